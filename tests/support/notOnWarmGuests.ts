/** What the suites that run on warm guests leave out there, by name, and why. Everything else is held to. */
import type { WarmName } from './warmTargets.ts';

export interface LeftOut {
  /** Names of clauses, or how the names of attacks begin, without their target's name: `group: title`. */
  readonly names: readonly string[];
  /** The kinds of warm guests; all of them where it is absent. */
  readonly on?: readonly WarmName[];
  readonly because: string;
}

const WRITTEN_BEFORE =
  'nobody writes to a warm guest when its program has begun, and before that there is nothing of a program';
const NEVER_READ = 'nobody looks at what a warm program made, and from such a container it is gone';
const NO_ARCHIVES = 'archives are carried into and out of live sandboxes alone, which are never warm';

const WAITING: readonly WarmName[] = ['bubblewrap, waiting', 'gvisor, waiting', 'docker, waiting'];
const SAMPLE =
  'it takes long, and is tried on forked guests and on the cold ones that these are otherwise like';

/** Of the contract, by id. */
export const CLAUSES_LEFT_OUT: readonly LeftOut[] = [
  { names: ['files-last'], because: 'a warm guest is for one program, and nothing of it lasts' },
  { names: ['files-link-write', 'files-remove', 'files-remove-link'], because: WRITTEN_BEFORE },
  {
    names: ['files-carry', 'files-carry-out-confined', 'files-carry-in-confined', 'files-carry-bounded'],
    because: NO_ARCHIVES,
  },
  {
    names: ['files-absolute', 'files-link-read', 'files-special', 'working-folder'],
    on: ['docker, waiting'],
    because: NEVER_READ,
  },
  {
    names: ['enforced-disk'],
    on: ['docker, waiting'],
    because: 'the first process of the container takes two pages of a workspace that is larger by them',
  },
];

/** Of the attacks, by the file that they stand in. */
export const ATTACKS_LEFT_OUT: Readonly<Record<string, readonly LeftOut[]>> = {
  'files.test.ts': [
    {
      names: [
        'file API: 24. writes nothing through a link on the way of ',
        'file API: 24. a real folder is written to and listed (control)',
        'file API: 24, 25. writing "directory" is refused',
        'file API: 24, 25. writing "small/below" is refused',
        'file API: 24, 26. a link in the last place is replaced, not followed',
        'file API: 25. a FIFO or socket does not hold up reading, and writing replaces it',
      ],
      because: WRITTEN_BEFORE,
    },
    { names: ['file API: '], on: ['docker, waiting'], because: NEVER_READ },
    { names: ['file API: '], on: ['bubblewrap, waiting', 'gvisor, waiting'], because: SAMPLE },
  ],
  'processes.test.ts': [
    {
      names: ['process limit: 17. ', 'stubborn programs: 14. ', 'side by side: 20. '],
      on: WAITING,
      because: SAMPLE,
    },
  ],
  'resources.test.ts': [
    { names: ['output: 18. two floods of 200 MB', 'what is left: 27. '], on: WAITING, because: SAMPLE },
  ],
  'transfer.test.ts': [{ names: ['transfers: '], because: NO_ARCHIVES }],
  'truth.test.ts': [
    {
      names: [
        'truth of results: 21. every signal that ends the program',
        'truth of results: 23, 26. what was submitted runs although the program before left ',
      ],
      on: WAITING,
      because: SAMPLE,
    },
  ],
};

/** Why it is left out on this kind; undefined where it is not. */
export function whyLeftOut(
  list: readonly LeftOut[],
  kind: WarmName,
  isMeant: (name: string) => boolean,
): string | undefined {
  return list.find(({ names, on = [kind] }) => on.includes(kind) && names.some(isMeant))?.because;
}
