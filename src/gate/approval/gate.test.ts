import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Sight } from '../effects.ts';
import type { RiskRule } from '../risk.ts';
import { PRESETS } from '../rules.ts';
import type { GateEvent } from './events.ts';
import { Gate, type GateOptions } from './gate.ts';
import { Grants } from './grants.ts';
import {
  type Answer,
  type Approver,
  type Proposal,
  proposalHash,
  type Question,
  sha256,
} from './question.ts';

const encode = (text: string) => new TextEncoder().encode(text);

const proposal: Proposal = {
  operation: 'execute',
  code: { language: 'python', bytes: encode('print(1)') },
  parameters: { timeout: 30 },
  policy: { network: 'none', memory_mb: 512 },
  runtime: 'bubblewrap',
  sandboxId: 'box-1',
};

const DANGER: Sight = { effect: 'deletes_files', name: 'rm', line: 1, why: 'deletes all', isDangerous: true };

/** A person who gives the same answer to all questions, and counts them. */
function person(answer: Answer | undefined) {
  const asked: Question[] = [];
  const approver: Approver = {
    name: 'terminal',
    ask(question) {
      asked.push(question);
      return answer === undefined ? new Promise(() => {}) : Promise.resolve(answer);
    },
  };
  return { approver, asked };
}

/** A person who answers when told to. */
function slowPerson() {
  const asked: Question[] = [];
  const answers: ((answer: Answer) => void)[] = [];
  const approver: Approver = {
    name: 'terminal',
    ask(question) {
      asked.push(question);
      return new Promise((resolve) => void answers.push(resolve));
    },
  };
  return { approver, asked, answers };
}

function gateOf(options: Partial<GateOptions> = {}) {
  const events: GateEvent[] = [];
  const gate = new Gate({
    rules: PRESETS.strict,
    onEvent: (event) => void events.push(event),
    ...options,
  });
  return { gate, events, types: () => events.map(({ type }) => type) };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe('a question that nobody answers', () => {
  it.each<[string, Proposal, readonly Sight[], number]>([
    ['CRITICAL', proposal, [DANGER], 30],
    ['HIGH', proposal, [], 60],
    ['MEDIUM', { ...proposal, operation: 'read_file', parameters: { path: 'a.txt' } }, [], 120],
  ])('of the level %s ends as denied when its time is up', async (level, asked, sights, seconds) => {
    const { approver } = person(undefined);
    const { gate, types } = gateOf({ approvers: [approver] });
    const done = vi.fn();
    const deciding = gate.decide(asked, sights).then((decision) => {
      done();
      return decision;
    });
    await vi.advanceTimersByTimeAsync(seconds * 1000 - 1);
    expect(done).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await deciding).toMatchObject({
      verdict: 'deny',
      code: 'APPROVAL_DENIED',
      reason: 'no_answer',
      seconds,
      risk: { level, timeoutSec: seconds },
      because: expect.stringContaining(`within ${seconds} seconds`),
    });
    expect(types()).toEqual(['question', 'answer', 'decision']);
  });

  it('is not asked at the level LOW', async () => {
    const { approver, asked } = person(undefined);
    const { gate, types } = gateOf({ approvers: [approver] });
    const low = { ...proposal, operation: 'destroy_sandbox' } as const;
    expect(await gate.decide(low, [])).toMatchObject({
      verdict: 'allow',
      by: 'rules',
      risk: { level: 'LOW' },
    });
    expect(asked).toEqual([]);
    expect(types()).toEqual(['decision']);
  });

  it('ends by the real clock, too', async () => {
    vi.useRealTimers();
    const [rule] = PRESETS.strict.filter(({ id }) => id === 'code') as [RiskRule];
    const { approver } = person(undefined);
    const { gate } = gateOf({ rules: [{ ...rule, timeoutSec: 1 }], approvers: [approver] });
    const began = performance.now();
    const decision = await gate.decide(proposal, []);
    const tookMs = performance.now() - began;
    vi.useFakeTimers();
    expect(decision).toMatchObject({ verdict: 'deny', reason: 'no_answer' });
    expect(tookMs).toBeGreaterThan(990);
    expect(tookMs).toBeLessThan(5000);
  });
});

describe('a yes', () => {
  it('allows the very bytes that were shown, whatever became of those that were given', async () => {
    const bytes = encode('print(1)');
    const parameters = { timeout: 30, list: ['a'] };
    const { approver, asked, answers } = slowPerson();
    const { gate } = gateOf({ approvers: [approver] });
    const deciding = gate.decide({ ...proposal, code: { language: 'python', bytes }, parameters }, []);
    await vi.advanceTimersByTimeAsync(1);
    bytes.set(encode('import os'.slice(0, 8)));
    parameters.timeout = 9999;
    parameters.list.push('b');
    asked[0]?.code?.bytes.fill(0);
    answers[0]?.({ approved: true });
    const decision = await deciding;
    expect(decision).toMatchObject({ verdict: 'allow', by: 'person', answeredBy: 'terminal' });
    expect(decision.proposal.code?.bytes).toEqual(encode('print(1)'));
    expect(decision.proposal.parameters).toEqual({ timeout: 30, list: ['a'] });
    expect(proposalHash(decision.proposal)).toBe(decision.hash);
    expect(asked[0]?.hash).toBe(decision.hash);
  });

  it('holds this once where no grant comes with it', async () => {
    const { approver, asked } = person({ approved: true });
    const { gate } = gateOf({ approvers: [approver] });
    await gate.decide(proposal, []);
    expect(await gate.decide(proposal, [])).toMatchObject({ verdict: 'allow', by: 'person' });
    expect(asked).toHaveLength(2);
    expect(asked[0]?.id).not.toBe(asked[1]?.id);
  });

  it.each<[string, Proposal]>([
    ['byte of the code', { ...proposal, code: { language: 'python', bytes: encode('print(2)') } }],
    ['value of the policy', { ...proposal, policy: { network: 'none', memory_mb: 513 } }],
    ['parameter', { ...proposal, parameters: { timeout: 31 } }],
  ])('for this exact code is asked for again when one %s changes', async (_, changed) => {
    const { approver, asked } = person({ approved: true, grant: { scope: 'exact' } });
    const { gate } = gateOf({ approvers: [approver] });
    await gate.decide(proposal, []);
    expect(await gate.decide(proposal, [])).toMatchObject({ by: 'grant' });
    expect(asked).toHaveLength(1);
    expect(await gate.decide(changed, [])).toMatchObject({ by: 'person' });
    expect(asked).toHaveLength(2);
  });

  it('for 3 runs asks at the fourth', async () => {
    const { approver, asked } = person({ approved: true, grant: { scope: 'exact', count: 3 } });
    const { gate, types } = gateOf({ approvers: [approver] });
    const by: unknown[] = [];
    for (let run = 0; run < 4; run++) {
      const decision = await gate.decide(proposal, []);
      by.push(decision.verdict === 'allow' && decision.by);
    }
    expect(by).toEqual(['person', 'grant', 'grant', 'person']);
    expect(asked).toHaveLength(2);
    const first = ['question', 'answer', 'grant_given', 'decision'];
    const used = ['grant_used', 'decision'];
    expect(types()).toEqual([...first, ...used, ...used, ...first]);
  });

  it('asks again when its grant was revoked, has expired, or its sandbox has ended', async () => {
    const { approver, asked } = person({ approved: true, grant: { scope: 'operation', forSec: 60 } });
    const { gate, types } = gateOf({ approvers: [approver] });
    const decision = await gate.decide(proposal, []);
    const id = (decision.verdict === 'allow' && decision.by === 'person' && decision.grantId) || '';
    await gate.decide(proposal, []);
    expect(asked).toHaveLength(1);
    await gate.revoke(id);
    expect(types().at(-1)).toBe('grant_revoked');
    await gate.decide(proposal, []);
    expect(asked).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(59_999);
    await gate.decide(proposal, []);
    expect(asked).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    await gate.decide(proposal, []);
    expect(asked).toHaveLength(3);
    await gate.endSandbox('box-1');
    await gate.decide(proposal, []);
    expect(asked).toHaveLength(4);
    await gate.revokeAll();
    await gate.decide(proposal, []);
    expect(asked).toHaveLength(5);
  });

  it('for an operation covers no dangerous code where it was given for other', async () => {
    const { approver, asked } = person({ approved: true, grant: { scope: 'operation' } });
    const { gate } = gateOf({ approvers: [approver] });
    await gate.decide(proposal, []);
    await gate.decide(proposal, [DANGER]);
    expect(asked).toHaveLength(2);
    await gate.decide({ ...proposal, parameters: { network_enabled: true } }, []);
    expect(asked).toHaveLength(2);
  });

  it('without a lasting sandbox leaves no grant for its operation, and says so', async () => {
    const { approver } = person({ approved: true, grant: { scope: 'operation' } });
    const grants = new Grants();
    const { gate } = gateOf({ approvers: [approver], grants });
    expect(await gate.decide({ ...proposal, sandboxId: null }, [])).toMatchObject({
      verdict: 'allow',
      notGranted: expect.stringContaining('sandbox'),
    });
    expect(await grants.list()).toEqual([]);
  });

  it('to one of two identical questions leaves the other waiting', async () => {
    const { approver, answers } = slowPerson();
    const { gate } = gateOf({ approvers: [approver] });
    const both = [gate.decide(proposal, []), gate.decide(proposal, [])];
    await vi.advanceTimersByTimeAsync(1);
    expect(answers).toHaveLength(2);
    answers[0]?.({ approved: true, grant: { scope: 'exact' } });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await Promise.all(both)).toMatchObject([{ verdict: 'allow' }, { verdict: 'deny' }]);
  });
});

describe('a no', () => {
  it('says who said it, and why, on one line', async () => {
    const { approver } = person({ approved: false, reason: 'not\u001b[31m\nnow\u202e' });
    const { gate, events } = gateOf({ approvers: [approver] });
    const decision = await gate.decide(proposal, []);
    expect(decision).toMatchObject({
      verdict: 'deny',
      code: 'APPROVAL_DENIED',
      reason: 'answered',
      answeredBy: 'terminal',
    });
    expect(decision.verdict === 'deny' && decision.because).toBe(
      'A person was asked (terminal) and said no: "not [31m now". Nothing was done. Do not ask for the same again: take another way, or ask what would be allowed.',
    );
    expect(events.at(-1)).toMatchObject({ type: 'decision', verdict: 'deny', error_code: 'APPROVAL_DENIED' });
  });

  it('is what comes where nobody can be asked, at once and with the setting', async () => {
    const { gate, types } = gateOf();
    expect(await gate.decide(proposal, [])).toMatchObject({
      verdict: 'deny',
      code: 'APPROVAL_DENIED',
      reason: 'nobody_to_ask',
      because: expect.stringMatching(/`glovebox approvals`.*SANDBOX_GATE/),
    });
    expect(types()).toEqual(['decision']);
  });

  it('is what comes where asking failed, or was cancelled', async () => {
    const broken: Approver = { name: 'terminal', ask: () => Promise.reject(new Error('no terminal')) };
    const failed = await gateOf({ approvers: [broken] }).gate.decide(proposal, []);
    expect(failed).toMatchObject({
      reason: 'failed',
      because: expect.stringContaining('terminal: no terminal'),
    });
    const signal = AbortSignal.abort();
    const { approver, asked } = person({ approved: true });
    const cancelled = await gateOf({ approvers: [approver] }).gate.decide(proposal, [], { signal });
    expect(cancelled).toMatchObject({ verdict: 'deny', reason: 'cancelled' });
    expect(asked).toEqual([]);
    const controller = new AbortController();
    const { gate } = gateOf({ approvers: [person(undefined).approver] });
    const deciding = gate.decide(proposal, [], { signal: controller.signal });
    await vi.advanceTimersByTimeAsync(1000);
    controller.abort();
    expect(await deciding).toMatchObject({ verdict: 'deny', reason: 'cancelled', seconds: 1 });
  });

  it('is what comes of a yes that was too late', async () => {
    const { approver, answers } = slowPerson();
    const { gate } = gateOf({ approvers: [approver] });
    const deciding = gate.decide(proposal, []);
    await vi.advanceTimersByTimeAsync(1);
    vi.setSystemTime(Date.now() + 60_000);
    answers[0]?.({ approved: true });
    expect(await deciding).toMatchObject({ verdict: 'deny', code: 'APPROVAL_EXPIRED', reason: 'no_answer' });
  });
});

describe('code that nobody could look at', () => {
  it('counts as dangerous', async () => {
    const { approver, asked } = person({ approved: false });
    const { gate } = gateOf({ rules: PRESETS['ask-on-danger'], approvers: [approver] });
    expect(await gate.decide(proposal, [])).toMatchObject({ verdict: 'allow', by: 'rules' });
    const options = { notInspected: 'The code has 1,000,000 characters.' };
    expect(await gate.decide(proposal, [], options)).toMatchObject({
      verdict: 'deny',
      risk: { level: 'CRITICAL' },
    });
    expect(asked).toMatchObject([{ notInspected: options.notInspected, sights: [] }]);
  });
});

describe('what is told', () => {
  const yes: Answer = { approved: true, grant: { scope: 'exact', count: 5 } };

  it.each(['question', 'answer', 'grant_given', 'decision'] as const)(
    'has to be recorded: without the record of the %s nothing is allowed, nor granted',
    async (type) => {
      const { approver } = person(yes);
      const grants = new Grants();
      const full = async (event: GateEvent): Promise<void> => {
        if (event.type === type) throw new Error('disk full');
      };
      const { gate } = gateOf({ approvers: [approver], grants, onEvent: full });
      await expect(gate.decide(proposal, [])).rejects.toThrow('disk full');
      if (type !== 'decision') expect(await grants.list()).toEqual([]);
    },
  );

  it('has to be recorded where nobody is asked: by rules, and by a grant', async () => {
    const without = (type: GateEvent['type']) => async (event: GateEvent) => {
      if (event.type === type) throw new Error('disk full');
    };
    const silent = gateOf({ rules: PRESETS.trusted, onEvent: without('decision') }).gate;
    await expect(silent.decide(proposal, [])).rejects.toThrow('disk full');
    const grants = new Grants();
    await gateOf({ approvers: [person(yes).approver], grants }).gate.decide(proposal, []);
    const { gate } = gateOf({ grants, onEvent: without('grant_used') });
    await expect(gate.decide(proposal, [])).rejects.toThrow('disk full');
  });

  it('is waited for before anything goes on', async () => {
    const open: (() => void)[] = [];
    const seen: string[] = [];
    const { approver, asked } = person(yes);
    const onEvent = (event: GateEvent): Promise<void> => {
      seen.push(event.type);
      return new Promise((resolve) => void open.push(resolve));
    };
    const { gate } = gateOf({ approvers: [approver], onEvent });
    const done = vi.fn();
    const deciding = gate.decide(proposal, []).then(done);
    for (const type of ['question', 'answer', 'grant_given', 'decision']) {
      await vi.advanceTimersByTimeAsync(1);
      expect(seen.at(-1)).toBe(type);
      expect(asked).toHaveLength(type === 'question' ? 0 : 1);
      expect(done).not.toHaveBeenCalled();
      open.pop()?.();
    }
    await deciding;
  });

  it('holds all that was decided about, but the bytes', async () => {
    const { approver, asked } = person(yes);
    const { gate, events } = gateOf({ approvers: [approver] });
    const { hash } = await gate.decide(proposal, [DANGER], { requestId: 'ex-1' });
    const id = 'ex-1';
    const code = { language: 'python', sha256: sha256('print(1)'), bytes: 8 };
    const about = { id, proposal_hash: hash, operation: 'execute', code, sights: [DANGER] };
    const question = { id, question_id: asked[0]?.id };
    expect(events).toMatchObject([
      { type: 'question', ...about, ...question, parameters: { timeout: 30 }, approvers: ['terminal'] },
      { type: 'answer', ...question, ended: 'answered', approved: true, answered_by: 'terminal' },
      { type: 'grant_given', id, grant_hash: hash, uses_left: 4, given_by: 'terminal', level: 'CRITICAL' },
      { type: 'decision', ...about, verdict: 'allow', by: 'person', answered_by: 'terminal' },
    ]);
    // As it is written, and read again.
    expect(JSON.parse(JSON.stringify(events))).toEqual(events);
  });
});

it('refuses what cannot be shown, by the strictest rules and by the mildest', async () => {
  const bad = { ...proposal, parameters: { at: new Date() } };
  for (const rules of [PRESETS.strict, PRESETS.trusted]) {
    const { gate, events } = gateOf({ rules });
    await expect(gate.decide(bad, [])).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(events).toEqual([]);
  }
});

it('takes no rules that are not what their examples say', () => {
  const [rule] = PRESETS.strict as [RiskRule];
  const wrong = { ...rule, examples: { matching: [{ parameters: {} }], missing: [] } };
  expect(() => new Gate({ rules: [wrong] })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});
