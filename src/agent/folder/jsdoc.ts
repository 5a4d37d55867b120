/** What a comment before a function says. Pure. */

export interface DocumentedParameter {
  readonly name: string;
  /** A JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly isOptional: boolean;
}

export interface Documentation {
  readonly description: string;
  readonly parameters: readonly DocumentedParameter[];
}

/** Reads the inside of a JSDoc comment. Throws an `Error` that says what cannot be read. */
export function readJsDoc(comment: string): Documentation {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\*+ ?/, '').trimEnd());
  const [description = '', ...tags] = lines.join('\n').split(/^(?=@\w)/m);
  return {
    description: description.trim(),
    parameters: tags.filter((tag) => /^@param\b/.test(tag)).map(readParameter),
  };
}

const PARAMETER =
  /^@param\s+\{([^}]*)\}\s+(?:\[([A-Za-z_$][\w$]*)[^\]]*\]|([A-Za-z_$][\w$]*))\s*-?\s*([\s\S]*)$/;

function readParameter(tag: string): DocumentedParameter {
  const [, type = '', optional, required, text = ''] = PARAMETER.exec(tag) ?? [];
  const name = optional ?? required;
  if (name === undefined) throw new Error(`"${tag.trim()}" is not written as "@param {type} name text"`);
  const description = text.replace(/\s+/g, ' ').trim();
  const schema = schemaOfType(type.replace(/=$/, ''));
  return {
    name,
    schema: description === '' ? schema : { ...schema, description },
    isOptional: optional !== undefined || type.endsWith('='),
  };
}

const SIMPLE_TYPES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  string: { type: 'string' },
  number: { type: 'number' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  object: { type: 'object' },
  Object: { type: 'object' },
  any: {},
  '*': {},
};

/** The JSON Schema of a type: a simple one, a list, or values with `|` between them. */
export function schemaOfType(written: string): Readonly<Record<string, unknown>> {
  const type = written.trim();
  const simple = Object.hasOwn(SIMPLE_TYPES, type) ? SIMPLE_TYPES[type] : undefined;
  if (simple !== undefined) return simple;
  const element = /^(?:Array<(.+)>|\(?([^()]+)\)?\[\])$/.exec(type);
  if (element !== null && !(/\|/.test(type) && !/^(?:Array<|\()/.test(type)))
    return { type: 'array', items: schemaOfType(element[1] ?? element[2] ?? '') };
  const choices = type.split('|').map((choice) => choice.trim());
  const literals = choices.map(literal);
  if (literals.every((value) => value !== undefined)) return { enum: literals };
  if (choices.length > 1) return { anyOf: choices.map(schemaOfType) };
  throw new Error(`the type {${type}} is not one of ${Object.keys(SIMPLE_TYPES).join(', ')}, T[] or 'a'|'b'`);
}

function literal(text: string): string | number | undefined {
  const quoted = /^(?:'([^'\\]*)'|"([^"\\]*)")$/.exec(text);
  if (quoted !== null) return quoted[1] ?? quoted[2];
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}
