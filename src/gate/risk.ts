/** How risky an operation is, by rules that are data. Pure. */
import { SandboxError } from '../errors.ts';
import type { Effect } from './effects.ts';

/** From harmless to grave. */
export const RISK_LEVELS = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** Seconds that a person has to answer, where a rule does not say: less time for what is graver. */
export const ANSWER_SEC: Readonly<Record<RiskLevel, number>> = {
  LOW: 120,
  MEDIUM: 120,
  HIGH: 60,
  CRITICAL: 30,
};

/** What an agent can ask for. */
export const OPERATIONS = [
  'execute',
  'write_input',
  'install_package',
  'read_file',
  'write_file',
  'list_files',
  'remove_file',
  'create_sandbox',
  'forward_port',
  'start_context',
  'stop_process',
  'commit_dry_run',
  'call_tool',
  'destroy_sandbox',
  'metadata',
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** One thing that is asked for, as rules see it. */
export interface Subject {
  readonly operation: Operation;
  /** Of the call, by the names that every surface gives them. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** What its code seems to do. */
  readonly effects: readonly { readonly effect: Effect; readonly isDangerous: boolean }[];
}

/** All that is named must hold. */
export interface Condition {
  /** The value of a parameter is this one. */
  readonly equals?: Readonly<Record<string, unknown>>;
  /** The value of a parameter, as text, matches a regular expression. */
  readonly matches?: Readonly<Record<string, string>>;
  /** The code seems to do one of these; `dangerous`: anything that a person should see. */
  readonly findings?: readonly (Effect | 'dangerous')[];
}

export interface RiskRule {
  readonly id: string;
  /** For a person, as a whole sentence. */
  readonly description: string;
  readonly operations: readonly Operation[];
  /** One of them must hold; without any, the rule is for every such operation. */
  readonly when?: readonly Condition[];
  readonly level: RiskLevel;
  readonly ask: boolean;
  /** How long a person has to answer. */
  readonly timeoutSec: number;
  /** Tried when the rules are loaded. */
  readonly examples: {
    readonly matching: readonly Partial<Subject>[];
    readonly missing: readonly Partial<Subject>[];
  };
}

/** What the rules say of a subject. */
export interface Risk {
  readonly level: RiskLevel;
  readonly ask: boolean;
  readonly timeoutSec: number;
  /** The rule that decided; absent where none matched. */
  readonly rule?: string;
  readonly description: string;
}

/** What holds where no rule matches: a person is asked, since nobody has thought of it. */
const UNFORESEEN: Risk = {
  ...{ level: 'HIGH', ask: true, timeoutSec: 60 },
  description: 'No rule foresees this.',
};

/** The strictest of the rules that match decides: by its level, then by whether it asks, then by the shorter time. */
export function assess(rules: readonly RiskRule[], subject: Subject): Risk {
  const [strictest] = rules.filter((rule) => isMatch(rule, subject)).sort(byStrictness);
  if (strictest === undefined) return UNFORESEEN;
  const { id, level, ask, timeoutSec, description } = strictest;
  return { level, ask, timeoutSec, rule: id, description };
}

/** Throws `CONFIG_INVALID` for rules that are not what their own examples say, and for two of one name. */
export function checkRules(rules: readonly RiskRule[]): void {
  const ids = new Set<string>();
  for (const rule of rules) {
    if (ids.has(rule.id)) throw unusable(rule, 'stands there twice');
    ids.add(rule.id);
    if (!(rule.timeoutSec > 0)) throw unusable(rule, 'leaves no time to answer');
    for (const pattern of (rule.when ?? []).flatMap(({ matches }) => Object.values(matches ?? {})))
      compile(rule, pattern);
    if (rule.examples.matching.length === 0) throw unusable(rule, 'has no example that it matches');
    for (const [kind, examples] of Object.entries(rule.examples)) {
      for (const [i, example] of examples.entries()) {
        if (isMatch(rule, completed(rule, example)) === (kind === 'matching')) continue;
        const what = kind === 'matching' ? 'does not match' : 'matches';
        throw unusable(rule, `${what} its ${kind} example ${i + 1}`);
      }
    }
  }
}

function completed({ operations: [operation = 'execute'] }: RiskRule, example: Partial<Subject>): Subject {
  return { operation, parameters: {}, effects: [], ...example };
}

function isMatch(rule: RiskRule, subject: Subject): boolean {
  if (!rule.operations.includes(subject.operation)) return false;
  return rule.when === undefined || rule.when.some((condition) => holds(condition, rule, subject));
}

function holds(
  { equals = {}, matches = {}, findings }: Condition,
  rule: RiskRule,
  subject: Subject,
): boolean {
  const { parameters, effects } = subject;
  return (
    Object.entries(equals).every(([name, value]) => parameters[name] === value) &&
    Object.entries(matches).every(([name, pattern]) =>
      compile(rule, pattern).test(asText(parameters[name])),
    ) &&
    (findings === undefined ||
      effects.some(
        ({ effect, isDangerous }) =>
          findings.includes(effect) || (isDangerous && findings.includes('dangerous')),
      ))
  );
}

function asText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function compile(rule: RiskRule, pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch (error) {
    throw unusable(rule, `has an expression that cannot be used (${(error as Error).message})`);
  }
}

function byStrictness(a: RiskRule, b: RiskRule): number {
  const level = RISK_LEVELS.indexOf(b.level) - RISK_LEVELS.indexOf(a.level);
  return level || Number(b.ask) - Number(a.ask) || a.timeoutSec - b.timeoutSec;
}

function unusable({ id }: RiskRule, what: string): SandboxError {
  return new SandboxError('CONFIG_INVALID', `The risk rule "${id}" ${what}.`, {
    hint: 'Change the rule, or its examples, which are tried when the rules are read.',
    details: { rule: id },
  });
}
