import { describe, expect, it } from 'vitest';
import type { Refusal } from './refusal.ts';
import { publicAddressesOf, type Resolve } from './resolve.ts';

const signal = new AbortController().signal;

async function outcome(resolve: Resolve, seconds = 10): Promise<readonly string[] | string> {
  try {
    return await publicAddressesOf('a.test', { resolve, seconds, signal });
  } catch (error) {
    return (error as Refusal).code;
  }
}

describe('the addresses of a name', () => {
  it('are all that it has, in their order, asked for once', async () => {
    let asked = 0;
    const answers = [['1.1.1.1', '2606:4700::1111', '8.8.8.8'], ['127.0.0.1']];
    expect(await outcome(async () => answers[asked++] ?? [])).toEqual([
      '1.1.1.1',
      '2606:4700::1111',
      '8.8.8.8',
    ]);
    expect(asked).toBe(1);
  });

  it.each([
    [['127.0.0.1']],
    [['1.1.1.1', '10.0.0.1']],
    [['10.0.0.1', '1.1.1.1']],
    [['1.1.1.1', '::ffff:127.0.0.1']],
    [['64:ff9b::7f00:1']],
    [['64:ff9b::a9fe:a9fe']],
    [['2606:4700::1111', '::1']],
    [['169.254.169.254']],
    [['fd00:ec2::254']],
    [['1.1.1.1', 'localhost']],
    [['1.1.1.1', '']],
    [['1.1.1.1', '1.1.1.1 ']],
    [['0x7f.1']],
    [[...Array.from({ length: 100 }, (_, index) => `1.1.1.${index}`), '192.168.0.1']],
  ])('are refused when one of them is not public: %j', async (addresses) => {
    expect(await outcome(async () => addresses)).toBe('private_address');
  });

  it('are refused with the one that is the reason, which only the operator is told', async () => {
    const refusal = publicAddressesOf('a.test', {
      resolve: async () => ['1.1.1.1', '10.1.2.3'],
      seconds: 1,
      signal,
    });
    await expect(refusal).rejects.toMatchObject({
      address: '10.1.2.3',
      message: expect.not.stringContaining('10.1.2.3'),
    });
  });

  it('are not found when there are none', async () => {
    expect(await outcome(async () => [])).toBe('unresolved');
    expect(await outcome(() => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })))).toBe(
      'unresolved',
    );
  });

  it('are not waited for longer than the limit, also from one who ignores it', async () => {
    expect(await outcome(() => new Promise(() => {}), 0.01)).toBe('timeout');
  });
});
