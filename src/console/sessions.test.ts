import { expect, it } from 'vitest';
import { isSameSecret, Sessions } from './sessions.ts';

const LIMITS = { lifetimeSec: 100, idleSec: 10, count: 2 };

function sessionsAt(start: number) {
  let now = start;
  const sessions = new Sessions(() => now, LIMITS);
  const at = (seconds: number): void => {
    now = start + seconds * 1000;
  };
  return { sessions, at };
}

it('knows who has signed in by a cookie of 256 bits, and nobody by another one', () => {
  const { sessions } = sessionsAt(0);
  const token = sessions.start('key-1');
  expect(Buffer.from(token, 'base64url')).toHaveLength(32);
  const found = sessions.find(token, { isUse: true });
  expect(found?.keyId).toBe('key-1');
  expect(Buffer.from(found?.csrf ?? '', 'base64url')).toHaveLength(32);
  expect(found?.csrf).not.toBe(token);
  for (const other of [undefined, '', `${token}x`, token.slice(1), found?.csrf])
    expect(sessions.find(other, { isUse: true })).toBeUndefined();
});

it('ends a session after its lifetime, though it is used', () => {
  const { sessions, at } = sessionsAt(1_000_000);
  const token = sessions.start('key');
  for (let second = 5; second < 100; second += 5) {
    at(second);
    expect(sessions.find(token, { isUse: true })?.keyId).toBe('key');
  }
  at(100);
  expect(sessions.find(token, { isUse: true })).toBeUndefined();
});

it('ends a session that no person uses, and takes no refresh of a page for a use', () => {
  const { sessions, at } = sessionsAt(0);
  const token = sessions.start('key');
  at(6);
  expect(sessions.find(token, { isUse: false })).toBeDefined();
  at(10);
  expect(sessions.find(token, { isUse: false })).toBeUndefined();
  at(0);
  expect(sessions.find(token, { isUse: true })).toBeUndefined();
});

it('ends one when it is told to, and the oldest when there are too many', () => {
  const { sessions } = sessionsAt(0);
  const [first, second, third] = [sessions.start('1'), sessions.start('2'), sessions.start('3')];
  const keys = () => [first, second, third].map((token) => sessions.find(token, { isUse: false })?.keyId);
  expect(keys()).toEqual([undefined, '2', '3']);
  sessions.end(second);
  expect(keys()).toEqual([undefined, undefined, '3']);
});

it('compares secrets of any length', () => {
  expect(isSameSecret('abc', 'abc')).toBe(true);
  for (const other of ['', 'ab', 'abd', 'abcd']) expect(isSameSecret(other, 'abc')).toBe(false);
});
