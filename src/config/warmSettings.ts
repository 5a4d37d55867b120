/** Settings for interpreters that wait for what will run. */
import type { Setting } from './settings.ts';
import { laterOf, smaller } from './tighten.ts';
import { listOf, oneOf, positiveNumber, type ValueType } from './valueTypes.ts';

/** From whoever asks for it to nobody. */
export const WARM_MODES = ['on', 'auto', 'off'] as const;

export interface WarmSettings {
  readonly warm: (typeof WARM_MODES)[number];
  readonly warmMin: number;
  readonly warmMax: number;
  readonly warmMemoryMb: number;
  readonly warmIdleSec: number;
  readonly warmPreload: readonly string[];
  readonly warmMaxConcurrent?: number;
}

const few = positiveNumber({ max: 10_000, whole: true });

const modules: ValueType<readonly string[]> = {
  expected: 'a list of names of Python modules such as numpy',
  parse: (text) => listOf(text, readModule),
  read: (value) => listOf(value, readModule),
  schema: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] },
};

function readModule(value: unknown): string | undefined {
  return typeof value === 'string' && /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(value) ? value : undefined;
}

export const WARM_SETTINGS: {
  readonly [Key in keyof WarmSettings]-?: Setting<NonNullable<WarmSettings[Key]>>;
} = {
  warm: {
    name: 'warm.mode',
    variable: 'SANDBOX_WARM',
    type: oneOf(WARM_MODES),
    default: 'auto',
    inProject: laterOf(WARM_MODES),
    description:
      'Whether interpreters are started before there is a program for them: auto where a process lives long (a manager, serve, mcp), on for getSandbox() too, off nowhere.',
  },
  warmMin: {
    name: 'warm.min',
    type: few,
    default: 1,
    inProject: smaller,
    description: 'How many sandboxes of one kind are kept ready while that kind is used.',
  },
  warmMax: {
    name: 'warm.max',
    type: few,
    default: 8,
    inProject: smaller,
    description: 'How many sandboxes of one kind are kept ready at most.',
  },
  warmMemoryMb: {
    name: 'warm.memory_mb',
    type: positiveNumber({ max: 1_000_000_000, whole: true }),
    default: 128,
    inProject: smaller,
    description: 'What all sandboxes that wait may use together, in MB, by an estimate for each.',
  },
  warmIdleSec: {
    name: 'warm.idle_sec',
    type: positiveNumber({ max: Math.floor((2 ** 31 - 1) / 1000) }),
    default: 300,
    inProject: smaller,
    description: 'After how many seconds without use no sandbox of a kind is kept ready any more.',
  },
  warmPreload: {
    name: 'warm.preload',
    type: modules,
    default: [],
    inProject: { refused: 'it decides what is loaded before code that asks for nothing of it' },
    description: 'Python modules that are imported while an interpreter waits.',
  },
  warmMaxConcurrent: {
    name: 'warm.max_concurrent',
    type: few,
    inProject: smaller,
    description:
      'How many executions in sandboxes of their own may run at a time where sandboxes are kept ready; as many again wait, and further ones are refused with POOL_EXHAUSTED.',
  },
};
