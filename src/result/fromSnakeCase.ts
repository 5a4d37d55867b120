import { z } from 'zod';

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

type CamelKeys<Shape> = { [Key in keyof Shape as CamelCase<Key & string>]: Shape[Key] };

/**
 * Reads an object with exactly these members, which are snake_case, as one whose members are camelCase. What else it
 * has is left out; what its members hold is theirs to read.
 */
export function fromSnakeCase<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape).map((name) => [name, camelCase(name)] as const);
  return z.object(shape).transform((members) => {
    const given: Readonly<Record<string, unknown>> = members;
    const renamed = names
      .filter(([name]) => Object.hasOwn(given, name))
      .map(([name, own]) => [own, given[name]]);
    return Object.fromEntries(renamed) as CamelKeys<typeof members>;
  });
}

/** Reads an object whose keys are data: none is renamed, and `__proto__` is a key like any other. */
export function mapOf<Value>(schema: z.ZodType<Value>): z.ZodType<Readonly<Record<string, Value>>> {
  return z.unknown().transform((value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      context.addIssue({ code: 'custom', message: 'Invalid input: expected an object' });
      return z.NEVER;
    }
    const entries = Object.entries(value).map(([key, held]) => {
      const read = schema.safeParse(held);
      if (read.success) return [key, read.data] as const;
      for (const { message, path } of read.error.issues) {
        context.addIssue({ code: 'custom', message, path: [key, ...path] });
      }
      return [key, undefined] as const;
    });
    return Object.fromEntries(entries) as Record<string, Value>;
  });
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
