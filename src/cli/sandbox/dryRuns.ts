/** What came of a dry run, made to count or forgotten. */
import type { DryRunJson } from '../sandboxHost/protocol.ts';
import { linesForTerminal } from '../terminal.ts';
import { askJson, tell } from './ask.ts';
import { hostOf, pathOf } from './hosts.ts';

interface JsonFlag {
  readonly json?: boolean;
}

/** Applies exactly what the dry run wrote; resolves to the exit status. */
export async function commit(id: string, dryRun: string, flags: JsonFlag): Promise<number> {
  const path = `${pathOf(id)}/dry-runs/${encodeURIComponent(dryRun)}/commit`;
  const committed = await askJson(await hostOf(id), { method: 'POST', path });
  if (flags.json) process.stdout.write(`${JSON.stringify(committed)}\n`);
  return 0;
}

export async function discard(id: string, dryRun: string, flags: JsonFlag): Promise<number> {
  const path = `${pathOf(id)}/dry-runs/${encodeURIComponent(dryRun)}`;
  await tell(await hostOf(id), { method: 'DELETE', path });
  if (flags.json) process.stdout.write(`${JSON.stringify({ discarded: dryRun })}\n`);
  return 0;
}

/** Beside the program's own output: what it did, and what can be done about it. */
export function printDryRun(sandbox: string, { id, text, effects }: DryRunJson): void {
  const refused = effects['not_committable'];
  const next =
    typeof refused === 'string'
      ? `It cannot be committed. ${linesForTerminal(refused)}`
      : `Nothing of it has been applied. To apply it: glovebox sandbox commit ${sandbox} ${id}`;
  process.stderr.write(`\n${linesForTerminal(text)}\nglovebox: ${next}\n`);
}
