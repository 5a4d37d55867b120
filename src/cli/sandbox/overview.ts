/** All sandboxes of this user: what there is, and an end to it. */
import { SandboxError } from '../../errors.ts';
import type { SandboxJson } from '../sandboxHost/protocol.ts';
import { forTerminal } from '../terminal.ts';
import { tell } from './ask.ts';
import { askAll, hostOf, pathOf } from './hosts.ts';

interface JsonFlag {
  readonly json?: boolean;
}

/** Prints the sandboxes that live, the oldest first; resolves to the exit status. */
export async function list({ json }: JsonFlag): Promise<number> {
  const answers = await askAll<{ sandboxes: readonly SandboxJson[] }>('GET', '/v1/sandboxes');
  const sandboxes = answers
    .flatMap((answer) => answer.sandboxes)
    .sort((a, b) => a.created_at.localeCompare(b.created_at));
  if (json) {
    process.stdout.write(`${JSON.stringify({ sandboxes })}\n`);
    return 0;
  }
  const now = Date.now();
  const rows = sandboxes.map((sandbox) => [
    sandbox.id,
    sandbox.runtime,
    sandbox.language,
    duration(now - Date.parse(sandbox.created_at)),
    duration(Date.parse(sandbox.expires_at) - now),
    sandbox.running ? 'yes' : 'no',
  ]);
  process.stdout.write(table([['ID', 'RUNTIME', 'LANGUAGE', 'AGE', 'EXPIRES IN', 'RUNNING'], ...rows]));
  return 0;
}

/** Ends these sandboxes, or all of them; resolves to the exit status. */
export async function remove(
  ids: readonly string[],
  flags: JsonFlag & { readonly all?: boolean },
): Promise<number> {
  if ((flags.all === true) === ids.length > 0) {
    throw new SandboxError('INPUT_INVALID', 'Say which sandboxes to remove: their ids, or --all.', {
      hint: 'Run: glovebox sandbox list',
    });
  }
  const removed = flags.all
    ? (await askAll<{ removed: readonly string[] }>('DELETE', '/v1/sandboxes')).flatMap(
        (answer) => answer.removed,
      )
    : await removeEach(ids);
  if (flags.json) process.stdout.write(`${JSON.stringify({ removed })}\n`);
  return 0;
}

/** One that cannot be removed must not keep the others; it is told when they are gone. */
async function removeEach(ids: readonly string[]): Promise<readonly string[]> {
  const failures: unknown[] = [];
  for (const id of ids) {
    try {
      await tell(await hostOf(id), { method: 'DELETE', path: pathOf(id) });
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return ids;
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => forTerminal(cell).padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** In the largest unit that says enough. */
function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
