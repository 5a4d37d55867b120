import { SandboxError } from '../../errors.ts';
import type { FoundProgram } from './readPrograms.ts';

/**
 * The programs that have no result yet. Throws `INPUT_INVALID` for an id that is there twice, and for a program that has
 * changed since its result was written.
 */
export async function* stillToRun(
  found: AsyncIterable<FoundProgram>,
  held: ReadonlyMap<string, string | null>,
  /** Told of each that has one. */
  onHeld: () => void = () => {},
): AsyncGenerator<FoundProgram> {
  const places = new Map<string, string>();
  for await (const program of found) {
    const { id, where, sha256 } = program;
    const other = places.get(id);
    if (other !== undefined) throw twice(id, other, where);
    places.set(id, where);
    if (!held.has(id)) {
      yield program;
      continue;
    }
    if (held.get(id) !== sha256) throw changed(id, where);
    onHeld();
  }
}

function twice(id: string, first: string, second: string): SandboxError {
  return new SandboxError(
    'INPUT_INVALID',
    `The id ${JSON.stringify(id)} is there twice: ${first} and ${second}.`,
    { hint: 'Give each program an id of its own.', details: { id } },
  );
}

function changed(id: string, where: string): SandboxError {
  const place = where === '' ? '' : ` (${where})`;
  return new SandboxError(
    'INPUT_INVALID',
    `The program ${JSON.stringify(id)}${place} is not the one whose result was written.`,
    {
      hint: 'Write to another file with --output, or take its line out of the results so that it runs again.',
      details: { id },
    },
  );
}
