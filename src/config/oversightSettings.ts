/** Settings for what is recorded, and for who is asked. */
import type { Setting } from './settings.ts';
import { laterOf, offWins } from './tighten.ts';
import { boolean, converted, folder, oneOf, positiveNumber, type ValueType } from './valueTypes.ts';

/** From asking nobody to asking about everything that does something. */
export const GATES = ['off', 'trusted', 'ask-on-danger', 'strict'] as const;

export interface OversightSettings {
  readonly audit: 'auto' | 'on' | 'off';
  readonly auditDir?: string;
  readonly auditFsync: 'always' | 'never';
  readonly auditMaxFileMb: number;
  readonly gate?: (typeof GATES)[number];
  readonly autoApproveLowRisk: boolean;
  /** As they were written: checked where they are used. */
  readonly gateRules?: readonly Readonly<Record<string, unknown>>[];
}

const rules: ValueType<readonly Readonly<Record<string, unknown>>[]> = {
  expected: 'a list of mappings, each of them a rule',
  parse: () => undefined,
  read: (value) => (Array.isArray(value) && value.every(isMapping) ? Object.freeze([...value]) : undefined),
  schema: { type: 'array', items: { type: 'object' } },
};

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const OVERSIGHT_SETTINGS: {
  readonly [Key in keyof OversightSettings]-?: Setting<NonNullable<OversightSettings[Key]>>;
} = {
  audit: {
    name: 'audit',
    variable: 'SANDBOX_AUDIT',
    type: oneOf(['auto', 'on', 'off']),
    default: 'auto',
    inProject: laterOf(['off', 'auto', 'on']),
    description:
      'Whether everything that is asked for, decided and done is recorded; auto records where audit_dir is set.',
  },
  auditDir: {
    name: 'audit_dir',
    variable: 'SANDBOX_AUDIT_DIR',
    type: folder,
    inProject: { refused: 'it decides where files of this host are written' },
    description:
      'The folder of the audit log; glovebox/audit in XDG_STATE_HOME (~/.local/state) otherwise. A relative path is as in artifacts_dir.',
  },
  auditFsync: {
    name: 'audit_fsync',
    variable: 'SANDBOX_AUDIT_FSYNC',
    type: oneOf(['always', 'never']),
    default: 'always',
    inProject: laterOf(['never', 'always']),
    description:
      'always: a record is on the disk before what it is about begins; never: it survives our own end, and not a loss of power.',
  },
  auditMaxFileMb: {
    name: 'audit_max_file_mb',
    variable: 'SANDBOX_AUDIT_MAX_FILE_MB',
    type: positiveNumber({ max: 4096 }),
    default: 64,
    inProject: { refused: 'it decides in how many files the log of all projects is kept' },
    description: 'How large a file of the audit log becomes before another one follows it, in MB.',
  },
  gate: {
    name: 'gate',
    variable: 'SANDBOX_GATE',
    type: oneOf(GATES),
    alias: {
      name: 'hitl.enabled',
      type: converted(boolean, (enabled) => (enabled ? ('strict' as const) : ('off' as const))),
    },
    inProject: laterOf(GATES),
    description:
      'What a person is asked about before it is done: off and trusted nothing, ask-on-danger what is critical, strict all but what touches nothing. Unset, the library and the command line ask nobody.',
  },
  autoApproveLowRisk: {
    name: 'hitl.auto_approve_low_risk',
    type: boolean,
    default: true,
    inProject: offWins,
    description: 'With false, a gate asks about what is of low risk as well.',
  },
  gateRules: {
    name: 'hitl.rules',
    type: rules,
    inProject: { refused: 'a rule of a higher level that does not ask would silence others' },
    description: 'Rules of your own beside those of the gate; the strictest one that matches decides.',
  },
};
