/** Putting our entry into a file of settings that is somebody else's. Pure. */
import { SandboxError } from '../../errors.ts';
import { type AssistantSettings, SERVER_NAME } from './assistants.ts';

export interface Merged {
  /** The whole new file. */
  readonly text: string;
  /** Our entry before, undefined where there was none, and after. */
  readonly before: unknown;
  readonly after: unknown;
}

/**
 * The file with our entry; everything else in it stays, as do members of our entry that we do not set. Throws `INPUT_INVALID`
 * where it is no plain JSON of that form, and nothing is changed.
 */
export function mergeSettings(
  text: string | undefined,
  { path, servers = '', entry }: AssistantSettings,
): Merged {
  const file = parse(text ?? '{}', path);
  const others = file[servers] ?? {};
  if (!isObject(others)) throw unusable(path, `${JSON.stringify(servers)} in it is no object`);
  const before = others[SERVER_NAME];
  const after = { ...(isObject(before) ? before : {}), ...entry };
  const changed = { ...file, [servers]: { ...others, [SERVER_NAME]: after } };
  const written = `${JSON.stringify(changed, null, indentOf(text))}\n`;
  return { text: written.replaceAll('\n', lineEndOf(text)), before, after };
}

function parse(text: string, path: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unusable(path, `it is no plain JSON (${(error as Error).message})`);
  }
  if (!isObject(value)) throw unusable(path, 'it holds no object');
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As it was. */
function indentOf(text = ''): string {
  return /^\{\r?\n([ \t]+)"/.exec(text)?.[1] ?? '  ';
}

/** As it was; within strings of JSON there is none. */
function lineEndOf(text = ''): string {
  return /^[^\n]*\r\n/.test(text) ? '\r\n' : '\n';
}

/** The refusal to change a file, with its reason as a part of a sentence. */
export function unusable(path: string, why: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} was left as it is: ${why}.`, {
    hint: 'Put the settings into it by hand; they are printed without --write.',
    details: { path },
  });
}
