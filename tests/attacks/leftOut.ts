/** Which attacks are not made on warm guests, by name, and why. Everything else is. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, beforeEach, type RunnerTask, type RunnerTestFile } from 'vitest';
import { WARM_NAMES, type WarmName } from '../support/warmTargets.ts';

interface LeftOut {
  /** How the names of tests begin, without their target's name: `group: title`. */
  readonly attacks: readonly string[];
  /** The kinds of warm guests; all of them where it is absent. */
  readonly on?: readonly WarmName[];
  readonly because: string;
}

/** By the file that they stand in. */
const LEFT_OUT: Readonly<Record<string, readonly LeftOut[]>> = {
  'files.test.ts': [
    {
      attacks: [
        'file API: 24. writes nothing through a link on the way of ',
        'file API: 24. a real folder is written to and listed (control)',
        'file API: 24, 25. writing "directory" is refused',
        'file API: 24, 25. writing "small/below" is refused',
        'file API: 24, 26. a link in the last place is replaced, not followed',
        'file API: 25. a FIFO or socket does not hold up reading, and writing replaces it',
      ],
      because:
        'nobody writes to a warm guest when its program has begun, and before there is nothing of a program',
    },
    {
      attacks: ['file API: '],
      on: ['docker, waiting'],
      because: 'nobody reads what the program of such a container made',
    },
  ],
  'transfer.test.ts': [
    {
      attacks: ['transfers: '],
      because: 'archives are carried into and out of live sandboxes alone, which are never warm',
    },
  ],
};

/** Skips, in the file of tests that calls it, what is left out; fails all of it where a name in the list is nobody's. */
export function leaveOut(): void {
  const missing = Object.keys(LEFT_OUT).filter((file) => !existsSync(join(import.meta.dirname, file)));
  if (missing.length > 0) throw new Error(`No such file of attacks: ${missing.join(', ')}`);
  // biome-ignore lint/correctness/noEmptyPattern: vitest takes no other first argument.
  beforeAll(({}, { file }) => {
    const names = testsIn(file.tasks).map((test) => identityOf(test).name);
    const unknown = listFor(file)
      .flatMap(({ attacks }) => attacks)
      .filter((attack) => !names.some((name) => name.startsWith(attack)));
    if (unknown.length > 0) throw new Error(`Left out, and nowhere in this file: ${unknown.join('; ')}`);
  });
  beforeEach(({ task, skip }) => {
    const { target, name } = identityOf(task);
    if (target === undefined) return;
    const found = listFor(task.file).find(
      ({ attacks, on = WARM_NAMES }) =>
        on.includes(target) && attacks.some((attack) => name.startsWith(attack)),
    );
    if (found !== undefined) skip(found.because);
  });
}

function listFor({ filepath }: RunnerTestFile): readonly LeftOut[] {
  return LEFT_OUT[basename(filepath)] ?? [];
}

function testsIn(tasks: readonly RunnerTask[]): RunnerTask[] {
  return tasks.flatMap((task) => (task.type === 'suite' ? testsIn(task.tasks) : [task]));
}

/** Its group and title, and the kind of warm guest that it is made on. */
function identityOf({ name, suite }: Readonly<RunnerTask>): {
  readonly name: string;
  readonly target?: WarmName | undefined;
} {
  const [, group = '', on] = /^(.*): '?(.*?)'?$/.exec(suite?.name ?? '') ?? [];
  return { name: `${group}: ${name}`, target: WARM_NAMES.find((one) => one === on) };
}
