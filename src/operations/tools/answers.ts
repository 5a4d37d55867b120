/** What a call came to, as a model reads it. Pure. */
import { isSandboxError } from '../../errors.ts';
import type { ContextExecution, RichResult } from '../../result/contextExecution.ts';
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
  const { json, pictures } = told(result.results);
  const shown = json.flatMap(({ type, text }) => (typeof text === 'string' ? [`[${type}] ${text}`] : []));
  const sections = [
    resultForModel(result, maxBytes),
    cut(shown.join('\n'), maxBytes),
    pictures.length === 0 ? '' : `(${pictures.length} picture${pictures.length === 1 ? '' : 's'})`,
    result.ended === undefined ? '' : `The variables of this language are lost: ${result.ended}`,
    footer(kept),
  ];
  const text = sections.filter((section) => section !== '').join('\n');
  return {
    text: withWarnings(text, result.meta.warnings),
    structured: { ...withBoundedError(contextExecutionToJson(result)), results: json, ...keptJson(kept) },
    ...{ pictures, isError: isRefused(result) },
    ...(isRefused(result) ? {} : { kept: { sandboxId: kept.id, executionId: result.meta.executionId } }),
  };
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
  const files = fitting(listed.files.slice(0, MAX_ENTRIES), MAX_LISTED_BYTES);
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

/** Of the paths and names of all entries together, which stand in `structured` as well. */
const MAX_LISTED_BYTES = 64 * 1024;

function fitting(files: readonly FileEntry[], maxBytes: number): readonly FileEntry[] {
  let bytes = 0;
  const end = files.findIndex(({ path, name }) => {
    bytes += Buffer.byteLength(path) + Buffer.byteLength(name);
    return bytes > maxBytes;
  });
  return end < 0 ? files : files.slice(0, end);
}

/** What a program raised is its own text, of any length. */
function withBoundedError(json: Record<string, unknown>): Record<string, unknown> {
  const { error } = json;
  if (typeof error !== 'object' || error === null) return json;
  const bounded = Object.entries(error).map(([name, text]) => [name, cut(String(text), MAX_FORM_CHARACTERS)]);
  return { ...json, error: Object.fromEntries(bounded) };
}

/** What clients take at once. */
const MAX_PICTURE_BYTES = 4 * 1024 * 1024;

/** What the first bytes say, whatever the name; in base64. */
function pictureType(base64: string): ToolPicture['mimeType'] | undefined {
  if (base64.startsWith('iVBORw0KGgo')) return 'image/png';
  return base64.startsWith('/9j/') ? 'image/jpeg' : undefined;
}

/** Of all that was shown, without the pictures. */
const MAX_SHOWN_BYTES = 64 * 1024;

/** Pictures apart from the rest, which is bounded in each of its forms, and in all of them together. */
function told(results: readonly RichResult[]): {
  readonly json: readonly Record<string, unknown>[];
  readonly pictures: readonly ToolPicture[];
} {
  const pictures: ToolPicture[] = [];
  const json = results.map(({ png, jpeg, extra: _extra, json: value, ...forms }) => {
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
  return { json: newestWithin(json, MAX_SHOWN_BYTES), pictures };
}

/** The last is the value of the program, and what came shortly before it tells more than what came first. */
function newestWithin(
  json: readonly Record<string, unknown>[],
  maxBytes: number,
): readonly Record<string, unknown>[] {
  let left = maxBytes;
  const newestFirst = json.toReversed().map((shown) => {
    left -= Buffer.byteLength(JSON.stringify(shown));
    if (left >= 0) return shown;
    return { type: shown['type'], notes: ['It was left out: more was shown than an answer holds.'] };
  });
  return newestFirst.reverse();
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
