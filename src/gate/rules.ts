/** The rules that hold where nobody wrote others, and presets of them. */
import { ANSWER_SEC, RISK_LEVELS, type RiskLevel, type RiskRule } from './risk.ts';

type Written = Omit<RiskRule, 'timeoutSec' | 'ask'>;

/** Files that are started because of where they are or how they are called. */
const STARTABLE = '\\.(sh|bash|so|dll|exe|bat|cmd|ps1)$|(^|/)bin/';

/** Whether a file of this path is one that can be started, whatever its mode. */
export function isStartable(path: string): boolean {
  return new RegExp(STARTABLE).test(path);
}

const BUILT_IN: readonly Written[] = [
  {
    id: 'network',
    description: 'The code may reach hosts outside.',
    operations: ['execute', 'create_sandbox'],
    when: [{ equals: { network_enabled: true } }],
    level: 'CRITICAL',
    examples: {
      matching: [{ parameters: { network_enabled: true } }],
      missing: [{ parameters: { network_enabled: false } }, {}],
    },
  },
  {
    id: 'dangerous-code',
    description: 'The code seems to do what a person should see first.',
    operations: ['execute', 'write_file', 'commit_dry_run'],
    when: [{ findings: ['dangerous'] }],
    level: 'CRITICAL',
    examples: {
      matching: [{ effects: [{ effect: 'deletes_files', isDangerous: true }] }],
      missing: [{ effects: [{ effect: 'deletes_files', isDangerous: false }] }, {}],
    },
  },
  {
    id: 'unusual-registry',
    description: 'The package comes from a registry that is not one of the usual ones.',
    operations: ['install_package'],
    when: [{ matches: { registry: '^(?!(pypi|npm)$)[^]' } }],
    level: 'CRITICAL',
    examples: {
      matching: [{ parameters: { registry: 'https://packages.example.com/' } }],
      missing: [{ parameters: { registry: 'pypi' } }, {}],
    },
  },
  {
    id: 'install-scripts',
    description: 'Code of a package runs while it is installed.',
    operations: ['install_package'],
    when: [{ equals: { allow_scripts: true } }],
    level: 'CRITICAL',
    examples: {
      matching: [{ parameters: { allow_scripts: true } }],
      missing: [{ parameters: { allow_scripts: false } }, {}],
    },
  },
  {
    id: 'code',
    description: 'Code is run, or a running program is told something.',
    operations: ['execute', 'write_input'],
    level: 'HIGH',
    examples: { matching: [{}], missing: [{ operation: 'list_files' }] },
  },
  {
    id: 'tool',
    description: 'A tool is called that runs outside of any sandbox.',
    operations: ['call_tool'],
    level: 'CRITICAL',
    examples: { matching: [{}], missing: [{ operation: 'execute' }] },
  },
  {
    id: 'package',
    description: 'A package is installed.',
    operations: ['install_package'],
    level: 'HIGH',
    examples: { matching: [{}], missing: [{ operation: 'execute' }] },
  },
  {
    id: 'executable',
    description: 'A file is written that can be started.',
    operations: ['write_file', 'commit_dry_run'],
    when: [{ equals: { executable: true } }, { matches: { path: STARTABLE } }],
    level: 'HIGH',
    examples: {
      matching: [{ parameters: { path: 'run.sh' } }, { parameters: { path: 'x', executable: true } }],
      missing: [{ parameters: { path: 'data.csv' } }],
    },
  },
  {
    id: 'files',
    description: 'Files are read, written, removed or listed.',
    operations: ['read_file', 'write_file', 'remove_file', 'list_files', 'commit_dry_run'],
    level: 'MEDIUM',
    examples: { matching: [{ operation: 'read_file' }], missing: [{ operation: 'execute' }] },
  },
  {
    id: 'sandbox',
    description: 'A sandbox without a network is made, or one of its ports is opened for this host.',
    operations: ['create_sandbox', 'forward_port'],
    level: 'MEDIUM',
    examples: { matching: [{}], missing: [{ operation: 'destroy_sandbox' }] },
  },
  {
    id: 'harmless',
    description: 'Nothing is run, read or written.',
    operations: ['start_context', 'stop_process', 'destroy_sandbox', 'metadata'],
    level: 'LOW',
    examples: { matching: [{}], missing: [{ operation: 'execute' }] },
  },
];

/** Asks from a level on. */
function asking(from: RiskLevel): RiskRule[] {
  const least = RISK_LEVELS.indexOf(from);
  return BUILT_IN.map((rule) => ({
    ...rule,
    ask: RISK_LEVELS.indexOf(rule.level) >= least,
    timeoutSec: ANSWER_SEC[rule.level],
  }));
}

/** The rules of a preset. */
export function presetRules(name: PresetName): readonly RiskRule[] {
  return PRESETS[name];
}

export type PresetName = keyof typeof PRESETS;

/** By name: who is asked about what. */
export const PRESETS = {
  /** Everything but what touches nothing. */
  strict: asking('MEDIUM'),
  /** What is critical. */
  'ask-on-danger': asking('CRITICAL'),
  /** Nothing: what is asked for is recorded, and runs. */
  trusted: asking('LOW').map((rule) => ({ ...rule, ask: false })),
} as const satisfies Readonly<Record<string, readonly RiskRule[]>>;
