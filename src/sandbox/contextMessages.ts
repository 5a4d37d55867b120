/** Reads what a context's kernel says, as from anybody who may lie: nothing but what is of the right form and size. */
import type { ContextError, RichResult } from '../result/contextExecution.ts';

export interface Done {
  readonly exitCode: number;
  readonly error?: ContextError;
}

/** Deeper values break whoever writes them out again. */
const MAX_JSON_DEPTH = 100;
const MAX_NAME = 200;
const MAX_ERROR_TEXT = 100_000;
const MAX_NOTES = 20;
const MAX_NOTE = 500;
const MAX_EXTRA = 20;

const TEXTS = ['text', 'html', 'markdown', 'latex', 'svg'] as const;
const IMAGES = ['png', 'jpeg'] as const;

/** How a cell ended; a kernel that does not say so properly is not believed to have succeeded. */
export function readDone(payload: Buffer | null): Done {
  const message = readObject(payload);
  const { exitCode, error } = message ?? {};
  if (!Number.isInteger(exitCode) || (exitCode as number) < 0 || (exitCode as number) > 255) {
    return { exitCode: 1, error: MALFORMED };
  }
  if (error === undefined) return { exitCode: exitCode as number };
  return { exitCode: exitCode as number, error: readError(error) };
}

const MALFORMED: ContextError = {
  name: 'MalformedAnswer',
  value: 'The kernel of the context did not say how the execution ended.',
  traceback: '',
};

function readError(error: unknown): ContextError {
  if (!isObject(error)) return MALFORMED;
  const text = (name: string, limit: number): string => {
    const value = error[name];
    return typeof value === 'string' ? wellFormed(value.slice(0, limit)) : '';
  };
  return {
    name: text('name', MAX_NAME) || 'Error',
    value: text('value', MAX_ERROR_TEXT),
    traceback: text('traceback', MAX_ERROR_TEXT),
  };
}

/** A result, or undefined where it is none. */
export function readResult(payload: Buffer): RichResult | undefined {
  const message = readObject(payload);
  if (message === undefined) return undefined;
  const notes: string[] = [];
  const result: Record<string, unknown> = { type: message['type'] === 'result' ? 'result' : 'display' };
  for (const name of TEXTS) {
    const value = message[name];
    if (typeof value === 'string') result[name] = wellFormed(value);
  }
  for (const name of IMAGES) {
    const value = message[name];
    if (value === undefined) continue;
    if (typeof value === 'string' && isBase64(value)) result[name] = value;
    else notes.push(`${name} was left out: it is not base64.`);
  }
  if (message['json'] !== undefined) result['json'] = message['json'];
  if (isObject(message['extra'])) {
    const extra = Object.entries(message['extra']).filter(([type]) => /^[a-z]+\/[\w.+-]{1,100}$/.test(type));
    if (extra.length > 0) result['extra'] = Object.fromEntries(extra.slice(0, MAX_EXTRA));
  }
  if (Array.isArray(message['notes'])) {
    const said = message['notes'].filter((note): note is string => typeof note === 'string');
    notes.push(...said.slice(0, MAX_NOTES).map((note) => wellFormed(note.slice(0, MAX_NOTE))));
  }
  return { ...(result as unknown as RichResult), ...(notes.length > 0 ? { notes } : {}) };
}

function readObject(payload: Buffer | null): Record<string, unknown> | undefined {
  if (payload === null || depthOf(payload) > MAX_JSON_DEPTH) return undefined;
  try {
    const message: unknown = JSON.parse(payload.toString('utf8'));
    return isObject(message) ? message : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** How deep brackets are nested in a JSON text, or in what pretends to be one. */
function depthOf(text: Buffer): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (inString) {
      if (byte === 0x5c) at++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x5b || byte === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return deepest;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** Half characters, which JSON can hold and UTF-8 cannot, are replaced. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString('utf8');
}
