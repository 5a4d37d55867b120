import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readAnswer } from './answer.ts';
import { askPeople } from './ask.ts';
import { newId } from './ids.ts';
import { type Answer, type Approver, type Proposal, proposalHash, type Question } from './question.ts';

const print = () => new TextEncoder().encode('print(1)');

function question(timeoutSec = 60): Question {
  const proposal: Proposal = {
    operation: 'execute',
    code: { language: 'python', bytes: print() },
    parameters: {},
    policy: {},
    runtime: 'bubblewrap',
    sandboxId: null,
  };
  const now = Date.now();
  return {
    ...proposal,
    id: newId(),
    hash: proposalHash(proposal),
    sights: [],
    risk: { level: 'HIGH', ask: true, timeoutSec, description: 'Code is run.' },
    askedAt: new Date(now).toISOString(),
    expiresAt: new Date(now + timeoutSec * 1000).toISOString(),
  };
}

const YES: Answer = { approved: true };
const NO: Answer = { approved: false };

/** One who answers when told to, and keeps what it was given. */
class Person implements Approver {
  readonly name: string;
  signal: AbortSignal | undefined;
  asked: Question | undefined;
  answer: (answer: unknown) => void = () => {};
  fail: (error: unknown) => void = () => {};

  constructor(name: string) {
    this.name = name;
  }

  ask(question: Question, signal: AbortSignal): Promise<Answer> {
    this.asked = question;
    this.signal = signal;
    return new Promise<Answer>((resolve, reject) => {
      this.answer = (answer) => resolve(answer as Answer);
      this.fail = reject;
    });
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const people = () => [new Person('terminal'), new Person('console')] as const;

describe('asking', () => {
  it.each([YES, NO])(
    'takes the first answer, and takes the question away from the others: %j',
    async (answer) => {
      const [terminal, console] = people();
      const asking = askPeople(question(), [terminal, console]);
      await vi.advanceTimersByTimeAsync(2500);
      console.answer(answer);
      await expect(asking).resolves.toEqual({
        ended: 'answered',
        answer,
        answeredBy: 'console',
        seconds: 2.5,
      });
      expect(terminal.signal?.aborted).toBe(true);
      expect(console.signal?.aborted).toBe(false);
    },
  );

  it('ignores what comes later: another answer, or an error', async () => {
    const [terminal, console] = people();
    const asking = askPeople(question(), [terminal, console]);
    terminal.answer(NO);
    console.answer(YES);
    await expect(asking).resolves.toMatchObject({ answer: NO });
    const [slow, quick] = people();
    const again = askPeople(question(), [slow, quick]);
    quick.answer(YES);
    await expect(again).resolves.toMatchObject({ answer: YES });
    slow.fail(new Error('late'));
    await vi.advanceTimersByTimeAsync(100_000);
  });

  it('leaves the question with the others when one cannot ask', async () => {
    const [terminal, console] = people();
    const asking = askPeople(question(), [terminal, console]);
    terminal.fail(new Error('no terminal'));
    await vi.advanceTimersByTimeAsync(1);
    console.answer(YES);
    await expect(asking).resolves.toMatchObject({ ended: 'answered', answeredBy: 'console' });
  });

  it('is a no when none of them can ask, also where they throw at once', async () => {
    const [terminal] = people();
    const broken = {
      name: 'broken',
      ask: () => {
        throw new Error('at once');
      },
    };
    const asking = askPeople(question(), [terminal, broken]);
    terminal.fail(Object.create(null));
    await expect(asking).resolves.toEqual({
      ended: 'failed',
      failures: [
        { approver: 'broken', message: 'at once' },
        { approver: 'terminal', message: 'an error without a message' },
      ],
      seconds: 0,
    });
  });

  it('is a no when there is nobody', async () => {
    await expect(askPeople(question(), [])).resolves.toEqual({
      ended: 'nobody_to_ask',
      failures: [],
      seconds: 0,
    });
  });

  it('ends when time is up, though an approver does not let go', async () => {
    const [deaf] = people();
    const asking = askPeople(question(30), [deaf]);
    let isOver = false;
    void asking.then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(29_999);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver).toBe(true);
    await expect(asking).resolves.toEqual({ ended: 'no_answer', failures: [], seconds: 30 });
    expect(deaf.signal?.aborted).toBe(true);
    deaf.answer(YES);
    await expect(asking).resolves.toMatchObject({ ended: 'no_answer' });
  });

  it.each([Number.NaN, 0, -1])('never waits for a time that is none: %d', async (timeoutSec) => {
    const [terminal] = people();
    const asked = { ...question(), risk: { ...question().risk, timeoutSec } };
    await expect(askPeople(asked, [terminal])).resolves.toMatchObject({ ended: 'no_answer' });
    expect(terminal.asked).toBeUndefined();
  });

  it('waits for long times, which timers do not take', async () => {
    const [terminal] = people();
    const asking = askPeople(question(30 * 24 * 3600), [terminal]);
    await vi.advanceTimersByTimeAsync(24 * 3600 * 1000);
    terminal.answer(YES);
    await expect(asking).resolves.toMatchObject({ ended: 'answered' });
  });

  it('takes no yes when the clock says that time is up, as after this host slept', async () => {
    const [terminal] = people();
    const asking = askPeople(question(30), [terminal]);
    vi.setSystemTime(Date.now() + 31_000);
    terminal.answer(YES);
    await expect(asking).resolves.toMatchObject({ ended: 'no_answer', tooLateBy: 'terminal' });
  });

  it("ends with the caller's signal, before and while it asks, and leaves no listener", async () => {
    const controller = new AbortController();
    const [terminal] = people();
    const asking = askPeople(question(), [terminal], { signal: controller.signal });
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort();
    await expect(asking).resolves.toMatchObject({ ended: 'cancelled' });
    expect(terminal.signal?.aborted).toBe(true);
    const [never] = people();
    await expect(askPeople(question(), [never], { signal: controller.signal })).resolves.toMatchObject({
      ended: 'cancelled',
    });
    expect(never.asked).toBeUndefined();
    const { signal } = new AbortController();
    const [other] = people();
    const answered = askPeople(question(), [other], { signal });
    other.answer(YES);
    await answered;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('gives each approver bytes of its own', async () => {
    const [terminal, console] = people();
    const asked = question();
    const asking = askPeople(asked, [terminal, console]);
    terminal.asked?.code?.bytes.fill(0);
    expect(console.asked?.code?.bytes).toEqual(print());
    expect(asked.code?.bytes).toEqual(print());
    terminal.answer(NO);
    await asking;
  });

  it('takes for a no what an approver makes up', async () => {
    const [terminal] = people();
    const asking = askPeople(question(), [terminal]);
    terminal.answer('yes');
    await expect(asking).resolves.toMatchObject({ ended: 'answered', answer: { approved: false } });
  });
});

describe('an answer', () => {
  const grant = { scope: 'exact' };
  it.each([
    { approved: true },
    { approved: true, grant: { scope: 'operation', forSec: 0.5, count: 3 } },
    { approved: false },
    { approved: false, reason: 'not now' },
  ])('is what it says: %j', (answer) => {
    expect(readAnswer(answer)).toEqual(answer);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['true', true],
    ['a text', 'yes'],
    ['a list', [{ approved: true }]],
    ['a function', () => ({ approved: true })],
    ['what is like true', { approved: 1 }],
    ['the text true', { approved: 'true' }],
    ['more than was asked', { approved: true, also: 1 }],
    ['a yes with a reason', { approved: true, reason: 'x' }],
    ['a yes that is inherited', Object.create({ approved: true })],
    ['a no with a grant', { approved: false, grant }],
    ['a grant that is none', { approved: true, grant: null }],
    ['a grant for once', { approved: true, grant: { scope: 'once' } }],
    ['a grant for all', { approved: true, grant: { scope: 'all' } }],
    ['a grant with more', { approved: true, grant: { ...grant, level: 'CRITICAL' } }],
    ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, '3', null].flatMap((limit): [string, unknown][] => [
      [`a count of ${limit}`, { approved: true, grant: { ...grant, count: limit } }],
      [`a time of ${limit}`, { approved: true, grant: { ...grant, forSec: limit } }],
    ]),
    ['a broken count', { approved: true, grant: { ...grant, count: 1.5 } }],
    ['a huge count', { approved: true, grant: { ...grant, count: 2 ** 60 } }],
    [
      'a getter that throws',
      {
        get approved() {
          throw new Error('hostile');
        },
      },
    ],
    ['a revoked proxy', revokedProxy()],
  ])('is a no where it is %s', (_, answer) => {
    expect(readAnswer(answer).approved).toBe(false);
  });

  it('is read once, so that it cannot say one thing and then another', () => {
    let reads = 0;
    const answer = {
      get approved() {
        reads++;
        return true;
      },
    };
    expect(readAnswer(answer)).toEqual({ approved: true });
    expect(reads).toBe(1);
  });

  it('has a reason of a readable length, and a grant of a year at most', () => {
    const no = readAnswer({ approved: false, reason: 'x'.repeat(1e6) });
    expect(no).toEqual({ approved: false, reason: 'x'.repeat(500) });
    const yes = readAnswer({ approved: true, grant: { scope: 'exact', forSec: 1e300 } });
    expect(yes).toEqual({ approved: true, grant: { scope: 'exact', forSec: 31_536_000 } });
  });
});

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
