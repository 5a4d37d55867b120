import { describe, expect, it } from 'vitest';
import { accessFor } from './access.ts';

const KEY = { id: 'k', name: 'k', scopes: ['execute' as const], quotas: {}, createdAt: '' };

const stored = (isLive: boolean) => ({
  hasLiveKeys: () => isLive,
  list: () => [KEY, { ...KEY, id: 'revoked', revokedAt: '2026-11-22T00:00:00.000Z' }],
  authenticate: (secret: string) => (secret === 'right' ? KEY : undefined),
});

describe('who is let in', () => {
  it('is whoever has a stored key, on any host', () => {
    const { keys, allowRemote, notes } = accessFor('0.0.0.0', stored(true), false);
    expect([
      keys.authenticate('right')?.id,
      keys.authenticate('wrong'),
      keys.authenticate(undefined),
    ]).toEqual([...['k', undefined, undefined]]);
    expect([allowRemote, notes]).toEqual([true, []]);
    expect(['k', 'revoked', 'other'].map((id) => keys.find(id)?.id)).toEqual(['k', undefined, undefined]);
  });

  it('is, without a stored key, whoever reads the two that are printed, on this machine', () => {
    const { keys, allowRemote, notes } = accessFor('127.0.0.1', stored(false), false);
    const secrets = notes.flatMap((note) => /: (gbx_\S+)$/.exec(note)?.[1] ?? []);
    expect(secrets.map((secret) => keys.authenticate(secret)?.scopes)).toEqual([
      ['execute'],
      ['approve', 'audit', 'metrics'],
    ]);
    expect([keys.authenticate('right'), keys.authenticate(undefined), allowRemote]).toEqual([
      ...[undefined, undefined, false],
    ]);
  });

  it('is nobody beyond this machine without a stored key', () => {
    expect(() => accessFor('0.0.0.0', stored(false), false)).toThrow('no key is stored that holds');
  });

  it('is everybody where an operator says so, loudly, and nobody who could approve', () => {
    const { keys, notes } = accessFor('0.0.0.0', stored(false), true);
    expect(keys.authenticate(undefined)?.scopes).toEqual(['execute', 'audit', 'metrics']);
    expect(notes.join(' ')).toContain('WHOEVER REACHES 0.0.0.0 CAN RUN CODE HERE');
  });
});
