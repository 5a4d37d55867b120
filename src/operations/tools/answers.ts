/** What a call came to, as a model reads it. Pure. */
import { isSandboxError } from '../../errors.ts';
import type { ContextError, ContextExecution, RichResult } from '../../result/contextExecution.ts';
import { contextExecutionToJson } from '../../result/contextExecutionJson.ts';
import type { ExecutionResult } from '../../result/result.ts';
import { resultToJson } from '../../result/resultJson.ts';
import type { FileEntry } from '../../runtimes/runtime.ts';
import { Capture } from '../../sandbox/capture.ts';
import type { FileContent } from '../../sandbox/sandbox.ts';
import { errorForModel, resultForModel } from '../modelText.ts';
import type { ToolAnswer, ToolPicture } from './tool.ts';

/** A sandbox that is kept, as answers name it. */
export interface Kept {
  readonly id: string;
  readonly expiresAt: string;
}

/** How much text of one form of a shown value is told. */
const MAX_FORM_CHARACTERS = 4096;

/** How many pictures one answer has. */
const MAX_PICTURES = 8;

/** The answer to a program that ran once in a sandbox of its own. */
export function executed(result: ExecutionResult, maxBytes: number): ToolAnswer {
  return {
    text: withWarnings(resultForModel(result, maxBytes), result.meta.warnings),
    structured: resultToJson(result),
    ...{ pictures: [], isError: isRefused(result) },
  };
}

/** The answer to a program that ran in a kept sandbox, where state stays. */
export function executedIn(kept: Kept, result: ContextExecution, maxBytes: number): ToolAnswer {
  const { json, pictures, leftOut } = told(result.results);
  const notTold = result.resultsLeftOut + leftOut;
  const shown = json.flatMap(({ type, text }) => (typeof text === 'string' ? [`[${type}] ${text}`] : []));
  const sections = [
    resultForModel(result, maxBytes),
    cut(shown.join('\n'), maxBytes),
    pictures.length === 0 ? '' : `(${pictures.length} picture${pictures.length === 1 ? '' : 's'})`,
    notTold === 0 ? '' : `(${notTold} more ${notTold === 1 ? 'result is' : 'results are'} left out)`,
    result.ended === undefined ? '' : `The variables of this language are lost: ${result.ended}`,
    footer(kept),
  ];
  const text = sections.filter((section) => section !== '').join('\n');
  return {
    text: withWarnings(text, result.meta.warnings),
    structured: {
      ...contextExecutionToJson(result),
      ...{ results: json, results_left_out: notTold },
      ...(result.error === undefined ? {} : { error: errorJson(result.error) }),
      ...keptJson(kept),
    },
    ...{ pictures, isError: isRefused(result) },
    ...(isRefused(result) ? {} : { kept: { sandboxId: kept.id, executionId: result.meta.executionId } }),
  };
}

function errorJson({ name, value, traceback }: ContextError): Readonly<Record<string, unknown>> {
  const short = (text: string): string => cut(text, MAX_FORM_CHARACTERS);
  return { name: short(name), value: short(value), traceback: short(traceback) };
}

/** What was not run is an error; a program that failed was run. */
function isRefused({ outcome }: ExecutionResult): boolean {
  return outcome === 'blocked' || outcome === 'denied';
}

/** The answer to a file that was read: text as it is, up to a bound, and a picture as one. */
export function fileRead(kept: Kept, path: string, file: FileContent, maxBytes: number): ToolAnswer {
  const { content, encoding, size } = file;
  const common = { path, encoding, size, sandbox_id: kept.id };
  const mimeType = encoding === 'base64' ? pictureType(content) : undefined;
  if (mimeType !== undefined && size <= MAX_PICTURE_BYTES) {
    return {
      text: `${path}: a picture of ${size} bytes.`,
      structured: { ...common, truncated: false },
      ...{ pictures: [{ mimeType, data: content }], isError: false },
    };
  }
  if (encoding === 'base64') {
    const fits = content.length <= maxBytes;
    const how = fits ? ', in base64' : ' that are too long to be shown: look at them with code';
    return {
      text: `${path}: ${size} bytes that are no text${how}.${fits ? `\n${content}` : ''}`,
      structured: { ...common, ...(fits ? { content } : {}), truncated: !fits },
      ...{ pictures: [], isError: false },
    };
  }
  const shown = cut(content, maxBytes);
  const truncated = shown !== content;
  return {
    text: truncated ? `${shown}\n(the file has ${size} bytes in all: read parts of it with code)` : shown,
    structured: { ...common, content: shown, truncated },
    ...{ pictures: [], isError: false },
  };
}

/** The answer to a folder that was listed. */
export function filesListed(
  kept: Kept,
  listed: { readonly files: readonly FileEntry[]; readonly truncated?: true },
  maxBytes: number,
): ToolAnswer {
  const files = withinRoom(listed.files.slice(0, MAX_ENTRIES), MAX_JSON_CHARACTERS);
  const truncated = listed.truncated === true || files.length < listed.files.length;
  const lines = files.map(({ path, type, size }) => {
    // A name can hold anything; one line each.
    const name = JSON.stringify(path).slice(1, -1);
    return type === 'file' ? `${name} (${size} bytes)` : `${name} (${type})`;
  });
  const text = lines.length === 0 ? '(no files)' : cut(lines.join('\n'), maxBytes);
  return {
    text: truncated ? `${text}\n(there are more)` : text,
    structured: {
      files: files.map(({ modifiedAt, ...entry }) => ({ ...entry, modified_at: modifiedAt })),
      ...{ truncated, sandbox_id: kept.id },
    },
    ...{ pictures: [], isError: false },
  };
}

/** An answer of one sentence about a kept sandbox. */
export function said(text: string, kept: Kept, structured: Readonly<Record<string, unknown>>): ToolAnswer {
  return {
    text: `${text}\n${footer(kept)}`,
    structured: { ...structured, ...keptJson(kept) },
    ...{ pictures: [], isError: false },
  };
}

/** The answer to what could not be done. A question that is still open says how it is answered. */
export function failed(error: unknown): ToolAnswer {
  const isOurs = isSandboxError(error);
  const told = isOurs
    ? error.toJSON().error
    : { code: 'SANDBOX_FAILED', message: errorForModel(error), hint: '', details: {} };
  const isPending = isOurs && error.code === 'APPROVAL_PENDING';
  return {
    text: errorForModel(error),
    structured: { ...(isPending ? { status: 'approval_pending' } : {}), error: told },
    ...{ pictures: [], isError: true },
  };
}

/** Both ends of a text, as of every output. */
export function cut(text: string, maxBytes: number): string {
  const capture = new Capture(maxBytes);
  capture.push(Buffer.from(text));
  return capture.finish().text;
}

const MAX_ENTRIES = 1000;

/** How long a list is as JSON, whatever a program makes of its members. */
const MAX_JSON_CHARACTERS = 64 * 1024;

/** The first of them whose JSON has room together. */
function withinRoom<T>(members: readonly T[], characters: number): readonly T[] {
  let room = characters;
  const end = members.findIndex((member) => {
    room -= JSON.stringify(member).length;
    return room < 0;
  });
  return end < 0 ? members : members.slice(0, end);
}

/** What clients take at once. */
const MAX_PICTURE_BYTES = 4 * 1024 * 1024;

/** What the first bytes say, whatever the name; in base64. */
function pictureType(base64: string): ToolPicture['mimeType'] | undefined {
  if (base64.startsWith('iVBORw0KGgo')) return 'image/png';
  return base64.startsWith('/9j/') ? 'image/jpeg' : undefined;
}

/** Pictures apart from the rest, which is bounded in each of its forms and together. */
function told(results: readonly RichResult[]): {
  readonly json: readonly Record<string, unknown>[];
  readonly pictures: readonly ToolPicture[];
  readonly leftOut: number;
} {
  const pictures: ToolPicture[] = [];
  const all = results.map(({ png, jpeg, extra: _extra, json: value, ...forms }) => {
    const notes = [...(forms.notes ?? [])];
    const picture = png ?? jpeg;
    if (picture !== undefined) {
      const mimeType = pictureType(picture);
      const fits = picture.length <= (MAX_PICTURE_BYTES * 4) / 3 && pictures.length < MAX_PICTURES;
      if (mimeType !== undefined && fits) pictures.push({ mimeType, data: picture });
      else notes.push('A picture was left out: it is too large, no picture, or one of too many.');
    }
    const texts = Object.entries(forms).filter(([name]) => name !== 'notes');
    const bounded = texts.map(([name, text]) => [name, cut(String(text), MAX_FORM_CHARACTERS)] as const);
    const small = value !== undefined && JSON.stringify(value).length <= MAX_FORM_CHARACTERS;
    return {
      ...Object.fromEntries(bounded),
      ...(small ? { json: value } : {}),
      ...(notes.length === 0 ? {} : { notes }),
    };
  });
  // The last is the value of the program, and what came shortly before it tells more than what came first.
  const json = withinRoom(all.toReversed(), MAX_JSON_CHARACTERS).toReversed();
  return { json, pictures, leftOut: all.length - json.length };
}

function footer({ id, expiresAt }: Kept): string {
  return `[sandbox_id: ${id}, until ${expiresAt}]`;
}

function keptJson({ id, expiresAt }: Kept): Record<string, unknown> {
  return { sandbox_id: id, expires_at: expiresAt };
}

function withWarnings(text: string, warnings: readonly string[] | undefined): string {
  return warnings === undefined || warnings.length === 0 ? text : `${text}\n[note] ${warnings.join(' ')}`;
}
