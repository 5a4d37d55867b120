import { describe, expect, it } from 'vitest';
import { accessFor } from './access.ts';

const stored = (isLive: boolean) => ({
  hasLiveKeys: () => isLive,
  authenticate: (secret: string) =>
    secret === 'right'
      ? { id: 'k', name: 'k', scopes: ['execute' as const], quotas: {}, createdAt: '' }
      : undefined,
});

describe('who is let in', () => {
  it('is whoever has a stored key, on any host', () => {
    const { authenticate, allowRemote, notes } = accessFor('0.0.0.0', stored(true), false);
    expect([authenticate('right')?.id, authenticate('wrong'), authenticate(undefined)]).toEqual([
      ...['k', undefined, undefined],
    ]);
    expect([allowRemote, notes]).toEqual([true, []]);
  });

  it('is, without a stored key, whoever reads the two that are printed, on this machine', () => {
    const { authenticate, allowRemote, notes } = accessFor('127.0.0.1', stored(false), false);
    const secrets = notes.flatMap((note) => /: (gbx_\S+)$/.exec(note)?.[1] ?? []);
    expect(secrets.map((secret) => authenticate(secret)?.scopes)).toEqual([
      ['execute'],
      ['approve', 'audit', 'metrics'],
    ]);
    expect([authenticate('right'), authenticate(undefined), allowRemote]).toEqual([
      ...[undefined, undefined, false],
    ]);
  });

  it('is nobody beyond this machine without a stored key', () => {
    expect(() => accessFor('0.0.0.0', stored(false), false)).toThrow('no key is stored that holds');
  });

  it('is everybody where an operator says so, loudly, and nobody who could approve', () => {
    const { authenticate, notes } = accessFor('0.0.0.0', stored(false), true);
    expect(authenticate(undefined)?.scopes).toEqual(['execute', 'audit', 'metrics']);
    expect(notes.join(' ')).toContain('WHOEVER REACHES 0.0.0.0 CAN RUN CODE HERE');
  });
});
