/** What code seems to do, however it is given. */
import type { Sight } from '../../gate/effects.ts';
import { inspectCode } from '../../gate/inspectCode.ts';
import { languageOfFile } from '../../languages/index.ts';
import type { Program } from '../../sandbox/program.ts';
import type { Seen } from './oversight.ts';

/** Of code or of a command, which is read as a shell would write it. */
export function look(run: Program['run']): Promise<Seen> {
  if ('command' in run) return inspectCode(run.command.map(quoted).join(' '), 'shell');
  return inspectCode(Buffer.from(run.code).toString('utf8'), run.language.name);
}

/** Of a file, where its name says that it is code. */
export async function lookAtFile(path: string, content: Uint8Array): Promise<Seen> {
  const language = languageOfFile(path);
  return language === undefined
    ? { sights: [] }
    : inspectCode(Buffer.from(content).toString('utf8'), language.name);
}

/** Of several files. */
export async function lookAtFiles(
  files: AsyncIterable<{ readonly path: string; readonly content: Uint8Array }>,
): Promise<Seen> {
  const sights: Sight[] = [];
  const notInspected: string[] = [];
  for await (const { path, content } of files) {
    const seen = await lookAtFile(path, content);
    sights.push(...seen.sights.map((sight) => ({ ...sight, why: `${sight.why} (in ${path})` })));
    if (seen.notInspected !== undefined) notInspected.push(`${path}: ${seen.notInspected}`);
  }
  return { sights, ...(notInspected.length === 0 ? {} : { notInspected: notInspected.join(' ') }) };
}

/** One word of a shell, whatever is in it. Nothing of this is ever run. */
function quoted(argument: string): string {
  return /^[\w./:=@%+-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
