import { describe, expect, it } from 'vitest';
import { assess, checkRules, type RiskRule, type Subject } from './risk.ts';
import { PRESETS } from './rules.ts';

const subject = (change: Partial<Subject> = {}): Subject => ({
  operation: 'execute',
  parameters: {},
  effects: [],
  ...change,
});

describe('the rules that come along', () => {
  it.each(Object.entries(PRESETS))('are what their examples say: %s', (_, rules) => {
    checkRules(rules);
  });

  it.each<[Partial<Subject>, string, number]>([
    [{ parameters: { network_enabled: true } }, 'CRITICAL', 30],
    [{ effects: [{ effect: 'downloads_and_runs', isDangerous: true }] }, 'CRITICAL', 30],
    [{ operation: 'install_package', parameters: { registry: 'https://evil.test' } }, 'CRITICAL', 30],
    [{}, 'HIGH', 60],
    [{ effects: [{ effect: 'deletes_files', isDangerous: false }] }, 'HIGH', 60],
    [{ operation: 'install_package', parameters: { registry: 'npm' } }, 'HIGH', 60],
    [{ operation: 'write_file', parameters: { path: 'bin/tool' } }, 'HIGH', 60],
    [{ operation: 'write_file', parameters: { path: 'notes.txt' } }, 'MEDIUM', 120],
    [{ operation: 'list_files' }, 'MEDIUM', 120],
    [{ operation: 'destroy_sandbox' }, 'LOW', 120],
  ])('%j is %s, and a person has %i seconds', (change, level, timeoutSec) => {
    const risk = assess(PRESETS.strict, subject(change));
    expect(risk).toMatchObject({ level, timeoutSec, ask: level !== 'LOW' });
    expect(assess(PRESETS['ask-on-danger'], subject(change)).ask).toBe(level === 'CRITICAL');
    expect(assess(PRESETS.trusted, subject(change)).ask).toBe(false);
  });

  it('ask where none foresees it', () => {
    expect(assess([], subject())).toMatchObject({ level: 'HIGH', ask: true });
  });
});

describe('a rule that cannot be used', () => {
  const rule: RiskRule = {
    ...{
      id: 'mine',
      description: 'Mine.',
      operations: ['execute'],
      level: 'HIGH',
      ask: true,
      timeoutSec: 60,
    },
    when: [{ matches: { path: '^a' } }],
    examples: { matching: [{ parameters: { path: 'ab' } }], missing: [{ parameters: { path: 'b' } }] },
  };
  it.each<[string, readonly RiskRule[], RegExp]>([
    [
      'a matching example that it misses',
      [{ ...rule, when: [{ matches: { path: '^x' } }] }],
      /does not match its matching example 1/,
    ],
    ['a missing example that it matches', [{ ...rule, when: [{}] }], /matches its missing example 1/],
    ['no example', [{ ...rule, examples: { matching: [], missing: [] } }], /no example/],
    ['a broken expression', [{ ...rule, when: [{ matches: { path: '(' } }] }], /cannot be used/],
    ['a name that is taken', [rule, rule], /twice/],
  ])('is refused: %s', (_, rules, message) => {
    checkRules([rule]);
    expect(() => checkRules(rules)).toThrow(message);
  });
});
