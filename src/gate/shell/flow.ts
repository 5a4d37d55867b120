/** What flows from one command to another: through a pipe, a substitution, a here-document or a file. Pure. */
import { UNKNOWN } from '../reading/values.ts';

export interface Flow {
  /** It may be what the script itself is given to read. */
  readonly isOwn: boolean;
  readonly isFetched: boolean;
  readonly isDecoded: boolean;
  /** Through a command that rewrites characters, which is ordinary as long as nothing runs them. */
  readonly isTranslated: boolean;
  /** What a shell says that takes its commands from somebody. */
  readonly isShell: boolean;
  /** All variables of the environment. */
  readonly isEnvironment: boolean;
  /** The text, where the script says it. */
  readonly text: string | undefined;
  /** There is more than the text. */
  readonly isOpen: boolean;
}

export const NOTHING: Flow = {
  isOwn: false,
  isFetched: false,
  isDecoded: false,
  isTranslated: false,
  isShell: false,
  isEnvironment: false,
  text: undefined,
  isOpen: false,
};

/** What the script itself is given to read. */
export const OWN: Flow = { ...NOTHING, isOwn: true };

const MAX_CHARACTERS = 64 * 1024;

/** What two commands say one after the other. */
export function joined(first: Flow, second: Flow): Flow {
  if (first === NOTHING) return second;
  if (second === NOTHING) return first;
  const text =
    first.text === undefined && second.text === undefined
      ? undefined
      : `${first.text ?? ''}${second.text ?? ''}`;
  const isTooLong = text !== undefined && text.length > MAX_CHARACTERS;
  return {
    isOwn: first.isOwn || second.isOwn,
    isFetched: first.isFetched || second.isFetched,
    isDecoded: first.isDecoded || second.isDecoded,
    isTranslated: first.isTranslated || second.isTranslated,
    isShell: first.isShell || second.isShell,
    isEnvironment: first.isEnvironment || second.isEnvironment,
    text: isTooLong ? first.text : text,
    isOpen: first.isOpen || second.isOpen || isTooLong,
  };
}

/** Stand in a text for what cannot be told of it; no script can write them. */
export const FETCHED = `${UNKNOWN}fetched${UNKNOWN}`;
export const DECODED = `${UNKNOWN}decoded${UNKNOWN}`;
export const TRANSLATED = `${UNKNOWN}translated${UNKNOWN}`;
export const ENVIRONMENT = `${UNKNOWN}environment${UNKNOWN}`;

/** As a text with marks; undefined where nothing is known of it. */
export function asText(flow: Flow): string | undefined {
  if (flow.isFetched) return FETCHED;
  if (flow.isEnvironment) return ENVIRONMENT;
  if (flow.text !== undefined && !flow.isOpen) return flow.text;
  if (flow.isDecoded) return DECODED;
  return flow.isTranslated ? TRANSLATED : undefined;
}

/** A text with marks, as it flows. */
export function ofText(text: string): Flow {
  if (text.includes(FETCHED)) return { ...NOTHING, isFetched: true };
  return { ...NOTHING, text, isEnvironment: text.includes(ENVIRONMENT) };
}

/** Whether what was only rewritten stands where a command does, and is no name of a variable. */
export function startsTranslated(text: string): boolean {
  const start = text.trimStart();
  return start.startsWith(TRANSLATED) && start[TRANSLATED.length] !== '=';
}

export function withoutLastLines(text: string): string {
  let end = text.length;
  while (text[end - 1] === '\n') end--;
  return text.slice(0, end);
}
