import { describe, expect, it } from 'vitest';
import type { RiskLevel } from '../risk.ts';
import { type Grant, grantFor, whyNoGrant } from './grant.ts';
import { Grants } from './grants.ts';
import type { GrantWish, Proposal } from './question.ts';

const proposal: Proposal = {
  operation: 'execute',
  code: { language: 'python', bytes: new TextEncoder().encode('print(1)') },
  parameters: { timeout: 30 },
  policy: { network: 'none', memory_mb: 512 },
  runtime: 'bubblewrap',
  sandboxId: 'box-1',
  sandboxInstance: 'one',
};
const otherCode = {
  ...proposal,
  code: { language: 'python', bytes: new TextEncoder().encode('print(2)') },
};

interface Given {
  readonly grants: Grants;
  readonly grant: Grant;
  /** Whether it holds for this, now. */
  holds(asked?: Proposal, level?: RiskLevel): Promise<boolean>;
  pass(seconds: number): void;
}

async function given(
  wish: GrantWish,
  { level = 'HIGH', to = proposal }: { level?: RiskLevel; to?: Proposal } = {},
): Promise<Given> {
  let now = Date.UTC(2026, 0, 1);
  const grants = new Grants({ clock: () => now });
  const grant = grantFor({ proposal: to, level }, wish, 'terminal', now);
  await grants.add(grant);
  return {
    ...{ grants, grant },
    holds: async (asked = to, at = level) =>
      (await grants.take({ proposal: asked, level: at })) !== undefined,
    pass: (seconds) => {
      now += seconds * 1000;
    },
  };
}

describe('an exact grant', () => {
  it('holds for the same proposal, any number of times', async () => {
    const { holds } = await given({ scope: 'exact' });
    for (let time = 0; time < 20; time++) expect(await holds({ ...proposal })).toBe(true);
  });

  it.each<[string, Partial<Proposal>]>([
    ['a byte of the code', { code: otherCode.code }],
    ['the language', { code: { language: 'shell', bytes: otherCode.code.bytes } }],
    ['a parameter', { parameters: { timeout: 31 } }],
    ['the policy', { policy: { network: 'none', memory_mb: 513 } }],
    ['the runtime', { runtime: 'local' }],
    ['the sandbox', { sandboxId: 'box-2' }],
    ['the operation', { operation: 'write_file' }],
  ])('does not hold when another is %s', async (_, change) => {
    const { holds } = await given({ scope: 'exact' });
    expect(await holds({ ...proposal, ...change })).toBe(false);
    expect(await holds()).toBe(true);
  });
});

describe('an exact grant for what nobody has read whole', () => {
  const archive: Proposal = {
    operation: 'write_file',
    parameters: { path: '.', as: 'tar' },
    unknownContent: 'The archive is read while it is unpacked.',
    ...{ policy: proposal.policy, runtime: 'bubblewrap', sandboxId: 'box-1' },
  };

  it('is not given, with the reason, and one for the operation is', () => {
    expect(whyNoGrant(archive, { scope: 'exact' })).toMatch(/not all was.*archive/);
    expect(whyNoGrant(archive, { scope: 'operation' })).toBeUndefined();
  });

  it('does not hold, wherever it comes from', async () => {
    const { holds } = await given({ scope: 'exact' }, { to: archive });
    expect(await holds()).toBe(false);
  });
});

describe('a grant for an operation', () => {
  it('holds for other code and parameters in the same sandbox', async () => {
    const { holds } = await given({ scope: 'operation' });
    expect(await holds({ ...otherCode, parameters: {} })).toBe(true);
  });

  it.each<[string, Partial<Proposal>]>([
    ['the policy', { policy: { network: 'none', memory_mb: 513 } }],
    ['the runtime', { runtime: 'local' }],
    ['the sandbox', { sandboxId: 'box-2' }],
    ['the sandbox of that name', { sandboxInstance: 'another' }],
    ['whoever asks', { askedBy: 'another' }],
    ['no sandbox', { sandboxId: null }],
    ['the operation', { operation: 'write_file' }],
  ])('does not hold when another is %s', async (_, change) => {
    const { holds } = await given({ scope: 'operation' });
    expect(await holds({ ...proposal, ...change })).toBe(false);
    expect(await holds()).toBe(true);
  });

  it('is not given where there is no sandbox that lasts, and does not hold there', async () => {
    const brief = { ...proposal, sandboxId: null };
    expect(whyNoGrant(brief, { scope: 'operation' })).toMatch(/gone when it is done/);
    expect(whyNoGrant(proposal, { scope: 'operation' })).toBeUndefined();
    const { holds } = await given({ scope: 'operation' }, { to: brief });
    expect(await holds()).toBe(false);
  });

  it('ends with its sandbox', async () => {
    const { grants, grant, holds } = await given({ scope: 'operation' });
    expect(await grants.endSandbox('box-2')).toEqual([]);
    expect(await holds()).toBe(true);
    expect(await grants.endSandbox('box-1')).toEqual([grant]);
    expect(await holds()).toBe(false);
  });
});

describe('a grant', () => {
  it.each(['exact', 'operation'] as const)('holds for no higher risk (%s)', async (scope) => {
    const high = await given({ scope });
    expect(await high.holds(proposal, 'CRITICAL')).toBe(false);
    expect(await high.holds(proposal, 'MEDIUM')).toBe(true);
    const critical = await given({ scope }, { level: 'CRITICAL' });
    expect(await critical.holds(proposal, 'CRITICAL')).toBe(true);
  });

  it('for three times counts the one with which it was given', async () => {
    const { holds, grants } = await given({ scope: 'exact', count: 3 });
    expect([await holds(), await holds(), await holds()]).toEqual([true, true, false]);
    expect(await grants.list()).toEqual([]);
  });

  it('for one time leaves nothing to remember', () => {
    expect(whyNoGrant(proposal, { scope: 'exact', count: 1 })).toMatch(/used up/);
    expect(whyNoGrant(proposal, { scope: 'exact', count: 2 })).toBeUndefined();
  });

  it('is used once by those who ask at the same time', async () => {
    const { holds } = await given({ scope: 'exact', count: 2 });
    const all = await Promise.all(Array.from({ length: 10 }, () => holds()));
    expect(all.filter(Boolean)).toHaveLength(1);
  });

  it('is not used up where one holds that is not counted', async () => {
    const { holds, grants, grant } = await given({ scope: 'exact', count: 2 });
    await grants.add({ ...grant, id: '0123456789abcdef', usesLeft: null });
    for (let time = 0; time < 5; time++) expect(await holds()).toBe(true);
    expect(await grants.list()).toHaveLength(2);
  });

  it.each([
    [{ scope: 'exact', forSec: 60 }, 60],
    [{ scope: 'exact' }, 8 * 3600],
  ] as const)('holds until its time is up: %j', async (wish, seconds) => {
    const { holds, pass, grants } = await given(wish);
    pass(seconds - 0.001);
    expect(await holds()).toBe(true);
    pass(0.001);
    expect(await holds()).toBe(false);
    expect(await grants.list()).toEqual([]);
  });

  it('does not hold when the clock was turned back before it was given', async () => {
    const { holds, pass } = await given({ scope: 'exact' });
    pass(-1);
    expect(await holds()).toBe(false);
  });

  it('is listed, and holds no more when it was revoked', async () => {
    const { grants, grant, holds } = await given({ scope: 'exact', count: 5 });
    expect(await grants.list()).toEqual([grant]);
    expect(await holds()).toBe(true);
    expect(await grants.list()).toMatchObject([{ id: grant.id, usesLeft: 3 }]);
    expect(await grants.revoke(grant.id)).toMatchObject({ id: grant.id });
    expect(await holds()).toBe(false);
    expect(await grants.list()).toEqual([]);
  });

  it('can be revoked with all others', async () => {
    const { grants, grant, holds } = await given({ scope: 'exact' });
    await grants.add({ ...grant, id: '0123456789abcdef' });
    expect(await grants.revokeAll()).toHaveLength(2);
    expect(await holds()).toBe(false);
    expect(await grants.revokeAll()).toEqual([]);
  });

  it('that is not there cannot be revoked, and it is said where to look', async () => {
    const { grants, grant } = await given({ scope: 'exact' });
    await expect(grants.revoke('../../etc/passwd')).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      hint: expect.stringContaining('glovebox approvals'),
    });
    expect(await grants.list()).toEqual([grant]);
  });
});
