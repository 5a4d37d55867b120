import { z } from 'zod';
import { type Line, textOf, unusable } from './lines.ts';

const noNul = z.string().refine((text) => !text.includes('\0'), 'must not hold a NUL');
const base64 = z
  .string()
  .refine((text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text), 'is no base64');

const programLine = z
  .strictObject({
    id: z.string().min(1).max(500).optional(),
    code: z.string().optional(),
    code_base64: base64.optional(),
    path: noNul.min(1).optional(),
    language: z.string().optional(),
    args: z.array(noNul).optional(),
    env: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a name of a variable'), noNul)
      .optional(),
    stdin: z.string().optional(),
    files: z
      .record(
        z.string().min(1),
        z.strictObject({ content: z.string(), encoding: z.enum(['utf8', 'base64']).default('utf8') }),
      )
      .optional(),
    timeout: z.number().positive().optional(),
  })
  .refine(
    ({ code, code_base64, path }) =>
      [code, code_base64, path].filter((given) => given !== undefined).length === 1,
    'needs exactly one of code, code_base64 and path',
  );

/** A program as a line of a file says it. */
export type ProgramLine = z.output<typeof programLine>;

const HINT = `One JSON object a line, such as {"id":"first","code":"print(1)","language":"python"}. Members: ${Object.keys(programLine.shape).join(', ')}.`;

/** Reads one line. Throws `INPUT_INVALID` that names the file, the line and the member; never the value of a variable. */
export function readProgramLine(line: Line, name: string): ProgramLine {
  const text = textOf(line, name);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Its message would quote the line, which may hold a secret.
    throw unusable(name, line.number, 'is no JSON', HINT);
  }
  const checked = programLine.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const member = issue?.path.join('.') ?? '';
  throw unusable(
    name,
    line.number,
    `cannot be used: ${member === '' ? '' : `${member}: `}${issue?.message}`,
    HINT,
  );
}
