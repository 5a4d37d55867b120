/** Leaves attacks out on warm guests as the one list says, and holds the list to what there is. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, beforeEach, type RunnerTask, type RunnerTestFile } from 'vitest';
import { ATTACKS_LEFT_OUT, type LeftOut, whyLeftOut } from '../support/notOnWarmGuests.ts';
import { WARM_NAMES, type WarmName } from '../support/warmTargets.ts';

/** In the file of tests that calls it. All of that fails where a name in the list is that of no attack. */
export function leaveOut(): void {
  const missing = Object.keys(ATTACKS_LEFT_OUT).filter(
    (file) => !existsSync(join(import.meta.dirname, file)),
  );
  if (missing.length > 0) throw new Error(`Attacks are left out of no such file: ${missing.join(', ')}`);
  // biome-ignore lint/correctness/noEmptyPattern: vitest takes no other first argument.
  beforeAll(({}, { file }) => {
    const attacks = testsIn(file.tasks).map((test) => identityOf(test).name);
    const unknown = listFor(file)
      .flatMap(({ names }) => names)
      .filter((name) => !attacks.some((attack) => attack.startsWith(name)));
    if (unknown.length > 0) throw new Error(`Left out, and nowhere in this file: ${unknown.join('; ')}`);
  });
  beforeEach(({ task, skip }) => {
    const { kind, name } = identityOf(task);
    if (kind === undefined) return;
    const because = whyLeftOut(listFor(task.file), kind, (beginning) => name.startsWith(beginning));
    if (because !== undefined) skip(because);
  });
}

function listFor({ filepath }: RunnerTestFile): readonly LeftOut[] {
  return ATTACKS_LEFT_OUT[basename(filepath)] ?? [];
}

function testsIn(tasks: readonly RunnerTask[]): RunnerTask[] {
  return tasks.flatMap((task) => (task.type === 'suite' ? testsIn(task.tasks) : [task]));
}

/** Its group and title, and the kind of warm guest that it is made on. */
function identityOf({ name, suite }: Readonly<RunnerTask>): {
  readonly name: string;
  readonly kind: WarmName | undefined;
} {
  const [, group = '', on] = /^(.*): '?(.*?)'?$/.exec(suite?.name ?? '') ?? [];
  return { name: `${group}: ${name}`, kind: WARM_NAMES.find((kind) => kind === on) };
}
