import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { presetRules } from '../rules.ts';
import { Gate } from './gate.ts';
import type { Answer, Proposal, Question } from './question.ts';

const PROPOSAL: Proposal = {
  operation: 'execute',
  code: { language: 'python', bytes: Buffer.from('print(1)') },
  ...{ parameters: {}, policy: {}, runtime: 'local', sandboxId: null },
};

interface Open {
  readonly question: Question;
  readonly signal: AbortSignal;
  readonly answer: (answer: Answer) => void;
}

/** A gate whose questions wait in a list until the test answers them. */
function gated() {
  const asked: Open[] = [];
  const told: string[] = [];
  const gate = new Gate({
    rules: presetRules('strict'),
    approvers: [
      {
        name: 'test',
        ask: (question, signal) =>
          new Promise((answer) => {
            asked.push({ question, signal, answer });
          }),
      },
    ],
    onEvent: ({ type, id }) => void told.push(`${type} ${id}`),
  });
  let count = 0;
  const decide = (
    proposal = PROPOSAL,
    options: { signal?: AbortSignal; patienceSec?: number } = { patienceSec: 40 },
  ) => {
    count++;
    return gate.decide(proposal, [], { requestId: `r${count}`, ...options });
  };
  return { asked, told, decide };
}

const PENDING = expect.objectContaining({ code: 'APPROVAL_PENDING' });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a question that outlives whoever asked it', () => {
  it('stays open when patience is over, and the same again uses its answer, once', async () => {
    const { asked, told, decide } = gated();
    const first = expect(decide()).rejects.toEqual(PENDING);
    await vi.advanceTimersByTimeAsync(40_000);
    await first;
    expect(asked).toHaveLength(1);
    expect(asked[0]?.signal.aborted).toBe(false);
    asked[0]?.answer({ approved: true });
    await vi.advanceTimersByTimeAsync(0);
    await expect(decide()).resolves.toMatchObject({ verdict: 'allow', by: 'person' });
    expect(told).toEqual(['question r1', 'answer r1', 'decision r2']);
    const third = expect(decide()).rejects.toEqual(PENDING);
    await vi.advanceTimersByTimeAsync(40_000);
    await third;
    expect(asked).toHaveLength(2);
  });

  it('tells whoever asks which question is open', async () => {
    const { asked, decide } = gated();
    const caught = decide().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(40_000);
    const { id, hash, expiresAt } = (asked[0] as Open).question;
    expect(await caught).toMatchObject({ details: { id, hash, expiresAt, risk: 'HIGH' } });
  });

  it('is joined by the same again while it is open, and gives one of them a yes', async () => {
    const { asked, decide } = gated();
    const both = [decide(), decide()].map((decision) => decision.then(({ id }) => id));
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toHaveLength(1);
    asked[0]?.answer({ approved: true });
    await vi.advanceTimersByTimeAsync(0);
    expect(await Promise.race(both)).toBe('r1');
    expect(asked).toHaveLength(2);
    asked[1]?.answer({ approved: true });
    expect(await Promise.all(both)).toEqual(['r1', 'r2']);
  });

  it('is another one for other code, for another who asks, and for another policy', async () => {
    const { asked, decide } = gated();
    const others: Proposal[] = [
      { ...PROPOSAL, code: { language: 'python', bytes: Buffer.from('print(2)') } },
      { ...PROPOSAL, askedBy: 'somebody else' },
      { ...PROPOSAL, policy: { network: 'open' } },
    ];
    const all = [PROPOSAL, ...others].map((proposal) => expect(decide(proposal)).rejects.toEqual(PENDING));
    await vi.advanceTimersByTimeAsync(40_000);
    await Promise.all(all);
    expect(new Set(asked.map(({ question }) => question.hash)).size).toBe(4);
    asked[0]?.answer({ approved: true });
    const again = others.map((proposal) =>
      expect(decide(proposal, { patienceSec: 5 })).rejects.toEqual(PENDING),
    );
    await vi.advanceTimersByTimeAsync(5000);
    await Promise.all(again);
  });

  it('is a no when its deadline has passed, and is asked anew then', async () => {
    const { asked, decide } = gated();
    const first = expect(decide()).rejects.toEqual(PENDING);
    await vi.advanceTimersByTimeAsync(40_000);
    await first;
    const second = decide();
    await vi.advanceTimersByTimeAsync(20_000);
    await expect(second).resolves.toMatchObject({ verdict: 'deny', reason: 'no_answer' });
    void decide().catch(() => {});
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toHaveLength(2);
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    'gives one yes, and not for ever, where patience ends %i steps after the answer',
    async (steps) => {
      const { asked, decide } = gated();
      const first = decide().then(
        ({ verdict }) => verdict,
        () => 'pending',
      );
      await vi.advanceTimersByTimeAsync(0);
      asked[0]?.answer({ approved: true });
      for (let step = 0; step < steps; step++) await undefined;
      vi.advanceTimersByTime(40_000);
      expect(['allow', 'pending']).toContain(await first);
      await vi.advanceTimersByTimeAsync(121_000);
      const later = expect(decide()).rejects.toEqual(PENDING);
      await vi.advanceTimersByTimeAsync(40_000);
      await later;
    },
  );

  it('is not asked where whoever asks has a hundred of them open, and is for another who asks', async () => {
    const { asked, decide } = gated();
    const all = Array.from({ length: 101 }, (_, number) =>
      decide({ ...PROPOSAL, parameters: { number } }).catch(({ code }: { code: string }) => code),
    );
    const others = decide({ ...PROPOSAL, askedBy: 'somebody else' }).catch(({ code }) => code);
    await vi.advanceTimersByTimeAsync(40_000);
    expect([...new Set(await Promise.all(all.slice(0, 100))), await all[100], await others]).toEqual([
      ...['APPROVAL_PENDING', 'QUOTA_EXCEEDED', 'APPROVAL_PENDING'],
    ]);
    expect(asked).toHaveLength(101);
    await vi.advanceTimersByTimeAsync(60_000);
    void decide({ ...PROPOSAL, parameters: { number: 101 } }).catch(() => {});
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toHaveLength(102);
  });

  it('gives an answer that nobody fetched no longer than two minutes', async () => {
    const { asked, decide } = gated();
    const first = expect(decide()).rejects.toEqual(PENDING);
    await vi.advanceTimersByTimeAsync(40_000);
    await first;
    asked[0]?.answer({ approved: true });
    await vi.advanceTimersByTimeAsync(120_000);
    void decide().catch(() => {});
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toHaveLength(2);
  });

  it('is withdrawn when whoever asked goes, unless another one waits for it', async () => {
    const { asked, decide } = gated();
    const [one, other] = [new AbortController(), new AbortController()];
    const decisions = [one, other].map(({ signal }) => decide(PROPOSAL, { patienceSec: 40, signal }));
    await vi.advanceTimersByTimeAsync(0);
    one.abort();
    await expect(decisions[0]).resolves.toMatchObject({ verdict: 'deny', reason: 'cancelled' });
    expect(asked[0]?.signal.aborted).toBe(false);
    other.abort();
    await expect(decisions[1]).resolves.toMatchObject({ verdict: 'deny', reason: 'cancelled' });
    expect(asked[0]?.signal.aborted).toBe(true);
  });

  it('is waited for to its deadline by whoever names no patience', async () => {
    const { asked, decide } = gated();
    const decision = decide(PROPOSAL, {});
    await vi.advanceTimersByTimeAsync(59_000);
    asked[0]?.answer({ approved: true });
    await expect(decision).resolves.toMatchObject({ verdict: 'allow' });
  });
});
