import { z } from 'zod';
import type { LoadedSettings } from '../../config/index.ts';
import { SandboxError } from '../../errors.ts';
import { ANSWER_SEC, OPERATIONS, type Operation, RISK_LEVELS, type RiskRule } from '../../gate/risk.ts';
import { presetRules } from '../../gate/rules.ts';

/** The tools of an agent, by the operation that each of them is. */
const TOOLS: Readonly<Record<string, Operation>> = {
  code_execute: 'execute',
  code_install_package: 'install_package',
  code_write_file: 'write_file',
  code_read_file: 'read_file',
  code_list_files: 'list_files',
  code_destroy_sandbox: 'destroy_sandbox',
};

const tool = z
  .enum([...OPERATIONS, ...Object.keys(TOOLS)] as [string, ...string[]])
  .transform((name) => TOOLS[name] ?? (name as Operation));

const condition = z.strictObject({
  equals: z.record(z.string(), z.unknown()).optional(),
  matches: z.record(z.string(), z.string()).optional(),
  findings: z.array(z.string()).min(1).optional(),
});

const example = z.strictObject({
  tool: tool.optional(),
  parameters: z.record(z.string(), z.unknown()).optional(),
  findings: z.array(z.strictObject({ effect: z.string(), dangerous: z.boolean().default(false) })).optional(),
});

const rule = z.strictObject({
  id: z.string().min(1).max(100),
  description: z.string().min(1).max(1000),
  tools: z.array(tool).min(1),
  when: z.array(condition).min(1).optional(),
  level: z.enum(RISK_LEVELS),
  ask: z.boolean(),
  timeout_sec: z.number().positive().max(86_400).optional(),
  examples: z.strictObject({ matching: z.array(example).min(1), missing: z.array(example).default([]) }),
});

/** Seconds to answer where a rule names none, by its level. */
/** The rules of a gate that the settings ask for. Throws `CONFIG_INVALID` for one that cannot be used. */
export function rulesFrom({
  gate = 'strict',
  autoApproveLowRisk,
  gateRules = [],
}: Pick<LoadedSettings['settings'], 'gate' | 'autoApproveLowRisk' | 'gateRules'>): readonly RiskRule[] {
  const own = gateRules.map((written, i) => ruleFrom(written, i));
  const preset = gate === 'off' ? [] : presetRules(gate);
  return [
    ...own,
    ...preset.map((one) => (one.level === 'LOW' && !autoApproveLowRisk ? { ...one, ask: true } : one)),
  ];
}

function ruleFrom(written: unknown, index: number): RiskRule {
  const { success, data, error } = rule.safeParse(written);
  if (!success) {
    const [issue] = error.issues;
    const where = ['hitl.rules', index, ...(issue?.path ?? [])].join('.');
    throw new SandboxError('CONFIG_INVALID', `The setting ${where} cannot be used: ${issue?.message}.`, {
      hint: 'See how rules are written: docs/approvals.md. Run: glovebox config explain hitl.rules',
      details: { key: where },
    });
  }
  const { id, description, tools, when, level, ask, timeout_sec: timeoutSec, examples } = data;
  return {
    ...{ id, description, operations: tools, level, ask, timeoutSec: timeoutSec ?? ANSWER_SEC[level] },
    ...(when === undefined ? {} : { when: when as NonNullable<RiskRule['when']> }),
    examples: { matching: examples.matching.map(exampleFrom), missing: examples.missing.map(exampleFrom) },
  };
}

function exampleFrom({ tool: operation, parameters, findings }: z.infer<typeof example>) {
  return {
    ...(operation === undefined ? {} : { operation }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(findings === undefined
      ? {}
      : { effects: findings.map(({ effect, dangerous }) => ({ effect, isDangerous: dangerous })) }),
  } as RiskRule['examples']['matching'][number];
}
