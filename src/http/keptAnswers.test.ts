import { describe, expect, it } from 'vitest';
import { KeptAnswers, type KeptBounds, type SentAnswer } from './keptAnswers.ts';

const answerOf = (text: string, status = 200): SentAnswer => ({ status, headers: [], text });

function asking(bounds: Partial<KeptBounds> = {}) {
  let now = 1_000_000;
  let made = 0;
  const answers = new KeptAnswers(bounds, () => now);
  const ask = (
    key: string,
    { owner = 'one', fingerprint = 'same', answer = answerOf(key) as SentAnswer | Promise<SentAnswer> } = {},
  ): Promise<SentAnswer> =>
    answers.once({ owner, key, fingerprint }, async () => {
      made++;
      return answer;
    });
  return { ask, made: () => made, pass: (ms: number) => (now += ms) };
}

describe('the answer to a key', () => {
  it('is made once for each owner, and given again', async () => {
    const { ask, made } = asking();
    expect([await ask('a'), await ask('a'), await ask('b')]).toEqual(
      ['a', 'a', 'b'].map((key) => answerOf(key)),
    );
    expect(made()).toBe(2);
    expect(await ask('a', { owner: 'other', answer: answerOf('theirs') })).toEqual(answerOf('theirs'));
    expect(made()).toBe(3);
  });

  it('is waited for by all who ask while it is made', async () => {
    const { ask, made } = asking();
    let finish = (_: SentAnswer): void => {};
    const answer = new Promise<SentAnswer>((resolve) => {
      finish = resolve;
    });
    const both = [ask('a', { answer }), ask('a', { answer })];
    await expect(ask('a', { fingerprint: 'other' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    finish(answerOf('late'));
    expect([await Promise.all(both), made()]).toEqual([[answerOf('late'), answerOf('late')], 1]);
  });

  it('is that to one request', async () => {
    const { ask, made } = asking();
    await ask('a');
    await expect(ask('a', { fingerprint: 'other' })).rejects.toMatchObject({
      ...{ code: 'INPUT_INVALID', details: { in: 'headers', path: 'idempotency-key' } },
    });
    expect(made()).toBe(1);
  });

  it.each([429, 500, 503])('is not kept where it says to come again: %d', async (status) => {
    const { ask, made } = asking();
    expect((await ask('a', { answer: answerOf('', status) })).status).toBe(status);
    expect((await ask('a')).status).toBe(200);
    expect([(await ask('b', { answer: answerOf('', 404) })).status, (await ask('b')).status]).toEqual([
      404, 404,
    ]);
    expect(made()).toBe(3);
  });

  it('is not kept where making it failed', async () => {
    const { ask } = asking();
    const failure = new Error('broken');
    const answer = Promise.reject(failure);
    const both = [ask('a', { answer }), ask('a')];
    expect((await Promise.allSettled(both)).map((one) => 'reason' in one && one.reason)).toEqual([
      failure,
      failure,
    ]);
    expect(await ask('a')).toEqual(answerOf('a'));
  });

  it('is told once where it is too long, and then where to look', async () => {
    const { ask, made } = asking({ answerBytes: 20 });
    const headers = [['location', '/v1/executions/e']] as const;
    const answer = { ...answerOf('01234567890'), headers };
    expect(await ask('a', { answer })).toEqual(answer);
    await expect(ask('a')).rejects.toMatchObject({
      status: 409,
      cause: {
        hint: expect.stringContaining('GET /v1/executions/e'),
        details: { location: '/v1/executions/e' },
      },
    });
    await expect(ask('a', { fingerprint: 'other' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect([
      (await ask('b', { answer: answerOf('0123456789') })).text,
      (await ask('b')).text,
      made(),
    ]).toEqual([...['0123456789', '0123456789', 2]]);
  });
});

describe('answers', () => {
  it('are forgotten when they are old', async () => {
    const { ask, made, pass } = asking({ ageMs: 100 });
    await ask('a');
    pass(100);
    await ask('a');
    expect(made()).toBe(1);
    pass(1);
    await ask('a');
    expect(made()).toBe(2);
  });

  it('of one owner are so many, the last ones', async () => {
    const { ask, made } = asking({ count: 2 });
    await ask('x', { owner: 'other' });
    for (const key of ['a', 'b', 'c']) await ask(key);
    await Promise.all([ask('b'), ask('c'), ask('x', { owner: 'other' })]);
    expect(made()).toBe(4);
    await ask('a');
    expect(made()).toBe(5);
  });

  it('that are being made are not forgotten for another one', async () => {
    const { ask, made } = asking({ count: 2 });
    let finish = (_: SentAnswer): void => {};
    const answer = new Promise<SentAnswer>((resolve) => {
      finish = resolve;
    });
    const making = ['a', 'b'].map((key) => ask(key, { answer }));
    await expect(ask('c')).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
    expect(await ask('c', { owner: 'other' })).toEqual(answerOf('c'));
    finish(answerOf('done'));
    await Promise.all(making);
    expect([await ask('c'), await ask('b'), made()]).toEqual([answerOf('c'), answerOf('done'), 4]);
  });

  it('of whoever keeps the most are forgotten first where they are too large together', async () => {
    const { ask, made } = asking({ totalBytes: 10_000 });
    await ask('small', { owner: 'other' });
    for (const key of ['a', 'b', 'c']) await ask(key, { answer: answerOf('x'.repeat(1500)) });
    await Promise.all([ask('small', { owner: 'other' }), ask('b'), ask('c')]);
    expect(made()).toBe(4);
    await ask('a');
    expect(made()).toBe(5);
  });
});
