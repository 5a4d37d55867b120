import { z } from 'zod';
import type { SandboxError } from '../../errors.ts';
import type { ExecutionResult } from '../../result/result.ts';
import { resultToJson } from '../../result/resultJson.ts';
import { type Line, linesOf, textOf, unusable } from './lines.ts';

/** Which program a line is about. */
export interface Labelled {
  readonly id: string;
  /** Of the program; null where it could not be read. */
  readonly sha256: string | null;
}

/**
 * A result as one line of JSON. Whatever is no plain character stands there as an escape: no reader takes a part of it for a
 * line end, and no terminal obeys it.
 */
export function resultLine(
  { id, sha256 }: Labelled,
  end: { readonly result: ExecutionResult } | { readonly error: SandboxError },
): string {
  const rest = 'result' in end ? resultToJson(end.result) : end.error.toJSON();
  return `${escaped(JSON.stringify({ id, sha256, ...rest }))}\n`;
}

function escaped(json: string): string {
  return json.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

const labelled = z.object({
  id: z.string(),
  sha256: z.string().nullable(),
  outcome: z.string().optional(),
});

/** What a file of results holds. */
export interface HeldResults {
  /** SHA-256 of the program, by its id. */
  readonly programs: ReadonlyMap<string, string | null>;
  /** Where it is to go on: behind it there is nothing, a torn line, or results of programs that were cancelled. */
  readonly end: number;
}

/** Reads results back. Throws `INPUT_INVALID`, with the number of the line, for what is no file of results. */
export async function readResults(chunks: AsyncIterable<Uint8Array>, name: string): Promise<HeldResults> {
  const programs = new Map<string, string | null>();
  let cancelled: Labelled[] = [];
  let end = 0;
  for await (const line of linesOf(chunks, name)) {
    if (!line.isWhole) break;
    const { outcome, ...label } = readLabel(line, name);
    if (outcome === 'cancelled') {
      cancelled.push(label);
      continue;
    }
    for (const { id, sha256 } of [...cancelled, label]) programs.set(id, sha256);
    cancelled = [];
    end = line.end;
  }
  return { programs, end };
}

function readLabel(line: Line, name: string): z.output<typeof labelled> {
  try {
    return labelled.parse(JSON.parse(textOf(line, name)));
  } catch {
    // No text, no JSON, or other members: whichever it is, it is not ours to go on with.
    const hint = 'Name the file that an earlier run-many has written, or another one.';
    throw unusable(name, line.number, 'is no result of run-many', hint);
  }
}
