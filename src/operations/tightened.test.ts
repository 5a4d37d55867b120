import { describe, expect, it } from 'vitest';
import type { Policy } from '../policy/policy.ts';
import { tightened } from './tightened.ts';

const wanted = (value: number) => ({ value, default: false });

const LIMITS: Policy['limits'] = {
  timeoutSec: wanted(30),
  memoryMb: wanted(512),
  diskMb: wanted(256),
  processes: wanted(64),
};

const CLOSED = { policy: { network: 'none', limits: LIMITS }, allowedDomains: [] } as const;
const LISTED = {
  policy: { network: 'none', limits: LIMITS },
  allowedDomains: ['*.example.org', 'example.com:8443'],
} as const;
const OPEN = { policy: { network: 'open', limits: LIMITS }, allowedDomains: [] } as const;

describe('what a caller asks for that may only tighten', () => {
  it('is taken as it is where it asks for less, or for nothing', () => {
    const less = { timeout: 30, memoryMb: 100, diskMb: 1, maxProcesses: 2, networkEnabled: false } as const;
    expect(tightened(CLOSED, less)).toEqual({ options: less, warnings: [] });
    expect(tightened(CLOSED, {})).toEqual({ options: {}, warnings: [] });
  });

  it('is cut to each limit of the operator, and says so', () => {
    const { options, warnings } = tightened(CLOSED, {
      ...{ timeout: 31, memoryMb: 513, diskMb: 257, maxProcesses: 65 },
    });
    expect(options).toEqual({ timeout: 30, memoryMb: 512, diskMb: 256, maxProcesses: 64 });
    expect(warnings).toEqual([
      'The timeout of 31 s was cut to 30 s, which is what the operator allows.',
      'The memoryMb of 513 MB was cut to 512 MB, which is what the operator allows.',
      'The diskMb of 257 MB was cut to 256 MB, which is what the operator allows.',
      'The maxProcesses of 65 processes was cut to 64 processes, which is what the operator allows.',
    ]);
  });

  it('cuts a share of the processor only where the operator has set one', () => {
    expect(tightened(CLOSED, { cpu: 4 })).toEqual({ options: { cpu: 4 }, warnings: [] });
    const shared = { ...CLOSED, policy: { ...CLOSED.policy, limits: { ...LIMITS, cpu: wanted(0.5) } } };
    expect(tightened(shared, { cpu: 4 }).options).toEqual({ cpu: 0.5 });
  });

  it.each([
    [CLOSED, { networkEnabled: true }, { network: 'none' }],
    [CLOSED, { allowedDomains: ['example.org'] }, { network: 'none' }],
    [CLOSED, { network: 'open' }, { network: 'none' }],
    [CLOSED, { network: 'allowlist' }, { network: 'none' }],
    [LISTED, { network: 'open' }, { network: 'allowlist', allowedDomains: LISTED.allowedDomains }],
    [LISTED, { networkEnabled: true }, { network: 'allowlist', allowedDomains: LISTED.allowedDomains }],
    [
      LISTED,
      { allowedDomains: ['a.example.org', 'example.org', 'example.com', 'evil.test'] },
      { network: 'allowlist', allowedDomains: ['a.example.org'] },
    ],
    [
      LISTED,
      { networkEnabled: true, allowedDomains: ['example.com:8443'] },
      { network: 'allowlist', allowedDomains: ['example.com:8443'] },
    ],
    [LISTED, { requires: { network: 'none' } }, { requires: { network: 'none' } }],
    [OPEN, { network: 'open' }, { network: 'open' }],
    [OPEN, { allowedDomains: ['anything.test'] }, { allowedDomains: ['anything.test'] }],
  ] as const)('reaches no more than the operator allows %#', (operators, asked, options) => {
    expect(tightened(operators, asked).options).toEqual(options);
  });

  it('says what of a network was not allowed', () => {
    const { warnings } = tightened(LISTED, { allowedDomains: ['a.example.org', 'evil.test'] });
    expect(warnings).toEqual(['The operator does not allow all of what was asked for: evil.test.']);
  });

  it('is refused where a network is required that is not allowed, and where it makes no sense', () => {
    for (const required of ['open', 'allowlist'] as const) {
      expect(() => tightened(CLOSED, { requires: { network: required } })).toThrowError(
        expect.objectContaining({ code: 'POLICY_DENIED' }),
      );
    }
    expect(() => tightened(LISTED, { allowedDomains: ['http://x'] })).toThrowError(
      expect.objectContaining({ code: 'INPUT_INVALID' }),
    );
    expect(() =>
      tightened(LISTED, { networkEnabled: false, allowedDomains: ['a.example.org'] }),
    ).toThrowError(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });
});
