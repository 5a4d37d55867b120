import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NewKey } from './key.ts';
import { Keyring, keysFolder } from './keyring.ts';

const { compared } = vi.hoisted(() => ({ compared: vi.fn() }));
vi.mock('node:crypto', async (original) => {
  const actual = await original<typeof import('node:crypto')>();
  return {
    ...actual,
    timingSafeEqual: (one: Uint8Array, other: Uint8Array) => {
      compared(one.length, other.length);
      return actual.timingSafeEqual(one, other);
    },
  };
});

const DAY_MS = 24 * 3600 * 1000;
const START = Date.parse('2026-11-20T12:00:00.000Z');

let root = '';
let now = START;
let warnings: string[] = [];
let keyring: Keyring;

const open = () =>
  new Keyring({ folder: join(root, 'keys'), clock: () => now, onWarning: (told) => warnings.push(told) });
const file = () => join(root, 'keys/keys.json');
const make = (given: Partial<NewKey> = {}) =>
  keyring.create({ name: 'agent', scopes: ['execute'], ...given });

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'keys-test-'));
  now = START;
  warnings = [];
  keyring = open();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('a key', () => {
  it('is told once, and kept as a hash that only its user can read', async () => {
    const { key, secret } = await make({ quotas: { maxSandboxes: 2 }, expiresInSec: 60 });
    expect(secret).toMatch(new RegExp(`^gbx_${key.id}_[A-Za-z0-9_-]{43}$`));
    expect(key).toEqual({
      id: key.id,
      name: 'agent',
      scopes: ['execute'],
      quotas: { maxSandboxes: 2 },
      createdAt: '2026-11-20T12:00:00.000Z',
      expiresAt: '2026-11-20T12:01:00.000Z',
    });
    expect(keyring.authenticate(secret)).toEqual(key);
    expect(keyring.list()).toEqual([key]);
    const kept = readFileSync(file(), 'utf8');
    expect(kept).toContain(key.id);
    expect(kept).not.toContain(secret.slice(-43));
    expect([statSync(file()).mode & 0o777, statSync(join(root, 'keys')).mode & 0o777]).toEqual([
      0o600, 0o700,
    ]);
    expect(readdirSync(join(root, 'keys'))).toEqual(['keys.json']);
  });

  it('has its scopes once each, in one order', async () => {
    const { key } = await make({ scopes: ['metrics', 'execute', 'metrics'] });
    expect(key.scopes).toEqual(['execute', 'metrics']);
  });

  it.each<[string, Partial<Record<keyof NewKey, unknown>>]>([
    ['an empty name', { name: '' }],
    ['a name that turns a terminal around', { name: 'a\u202e' }],
    ['a name with a line break', { name: 'a\nb' }],
    ['a long name', { name: 'a'.repeat(101) }],
    ['no scope', { scopes: [] }],
    ['an unknown scope', { scopes: ['admin'] }],
    ['a quota of zero', { quotas: { maxSandboxes: 0 } }],
    ['a negative quota', { quotas: { executionsPerMinute: -1 } }],
    ['half a quota', { quotas: { cpuSecondsPerHour: 0.5 } }],
    ['a quota that is no number', { quotas: { bytesPerHour: Number.NaN } }],
    ['an unknown quota', { quotas: { maxSandboxs: 1 } }],
    ['a past expiry', { expiresInSec: -1 }],
    ['an endless expiry', { expiresInSec: Number.POSITIVE_INFINITY }],
  ])('is not made from %s', async (_, given) => {
    await expect(make(given as Partial<NewKey>)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(existsSync(join(root, 'keys'))).toBe(false);
  });
});

describe('a secret', () => {
  it('is nobody’s where a character is another one, or something is added or missing', async () => {
    const { key, secret } = await make();
    const { secret: other } = await make();
    const changed = secret.endsWith('A') ? `${secret.slice(0, -1)}E` : `${secret.slice(0, -1)}A`;
    const wrong = [
      changed,
      `${secret}A`,
      secret.slice(0, -1),
      ` ${secret}`,
      `${secret}\n`,
      secret.toUpperCase(),
      secret.replace('gbx_', ''),
      `gbx_${key.id}_${other.slice(-43)}`,
      `gbx_0123456789abcdef_${secret.slice(-43)}`,
      'gbx___proto_________43',
      key.id,
      '',
    ];
    expect(wrong.map((given) => keyring.authenticate(given))).toEqual(wrong.map(() => undefined));
    expect(keyring.authenticate(secret)).toEqual(key);
    expect(warnings).toEqual([]);
  });

  it('is compared as often, in the same time, whether its key is known, unknown, revoked or expired', async () => {
    const { secret } = await make();
    const revoked = await make();
    await keyring.revoke(revoked.key.id);
    const expired = await make({ expiresInSec: 1 });
    now += 2000;
    const unknown = `gbx_0123456789abcdef_${secret.slice(-43)}`;
    const comparisons = [secret, `${secret.slice(0, -2)}AA`, revoked.secret, expired.secret, unknown].map(
      (given) => {
        compared.mockClear();
        keyring.authenticate(given);
        return compared.mock.calls;
      },
    );
    // Digests of the same length, for the secret that holds and the one before it.
    const [first] = comparisons;
    expect(first).toEqual([
      [32, 32],
      [32, 32],
    ]);
    expect(comparisons).toEqual(comparisons.map(() => first));
  });

  it('holds up to the millisecond in which its key expires', async () => {
    const { secret, key } = await make({ expiresInSec: 60 });
    now += 59_999;
    expect(keyring.authenticate(secret)).toEqual(key);
    now += 1;
    expect(keyring.authenticate(secret)).toBeUndefined();
    expect(keyring.hasLiveKeys()).toBe(false);
    await expect(keyring.rotate(key.id)).rejects.toThrow(`The key ${key.id} has expired`);
  });

  it('is nobody’s where there are no keys', () => {
    expect(keyring.authenticate(`gbx_0123456789abcdef_${'A'.repeat(43)}`)).toBeUndefined();
    expect(keyring.list()).toEqual([]);
    expect(keyring.hasLiveKeys()).toBe(false);
    expect(existsSync(join(root, 'keys'))).toBe(false);
  });
});

describe('a key that is taken back', () => {
  it('does not hold any more in another process, and others do', async () => {
    const { key, secret } = await make();
    const kept = await make({ name: 'other' });
    const server = open();
    expect(server.authenticate(secret)).toEqual(key);
    expect(await keyring.revoke(key.id)).toEqual({ ...key, revokedAt: '2026-11-20T12:00:00.000Z' });
    expect(server.authenticate(secret)).toBeUndefined();
    expect(server.authenticate(kept.secret)).toEqual(kept.key);
    now += DAY_MS;
    expect(await keyring.revoke(key.id)).toMatchObject({ revokedAt: '2026-11-20T12:00:00.000Z' });
    await expect(keyring.rotate(key.id)).rejects.toThrow(`The key ${key.id} was revoked`);
  });

  it('is one that there is', async () => {
    await expect(keyring.revoke('../../etc')).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: 'There is no key "../../etc".',
    });
  });
});

describe('a secret that is replaced', () => {
  it('holds beside the new one until the overlap ends', async () => {
    const { key, secret } = await make();
    const server = open();
    const { secret: next, key: same } = await keyring.rotate(key.id, { overlapSec: 60 });
    expect(same).toEqual(key);
    expect([secret, next].map((given) => server.authenticate(given))).toEqual([key, key]);
    now += 59_999;
    expect([secret, next].map((given) => server.authenticate(given))).toEqual([key, key]);
    now += 1;
    expect([secret, next].map((given) => server.authenticate(given))).toEqual([undefined, key]);
  });

  it('holds for a day, or not at all', async () => {
    const { key, secret } = await make();
    const second = await keyring.rotate(key.id);
    now += DAY_MS - 1;
    expect(keyring.authenticate(secret)).toEqual(key);
    const third = await keyring.rotate(key.id, { overlapSec: 0 });
    const holds = [secret, second.secret, third.secret].map(
      (given) => keyring.authenticate(given) !== undefined,
    );
    expect(holds).toEqual([false, false, true]);
  });

  it('makes room for one alone: the one before it holds no more', async () => {
    const { key, secret } = await make();
    const second = await keyring.rotate(key.id);
    const third = await keyring.rotate(key.id);
    const holds = [secret, second.secret, third.secret].map(
      (given) => keyring.authenticate(given) !== undefined,
    );
    expect(holds).toEqual([false, true, true]);
    await keyring.revoke(key.id);
    expect([second.secret, third.secret].map((given) => keyring.authenticate(given))).toEqual([
      undefined,
      undefined,
    ]);
  });

  it.each([-1, Number.NaN, 31 * 24 * 3600])(
    'is not replaced with an overlap of %d seconds',
    async (overlapSec) => {
      const { key } = await make();
      await expect(keyring.rotate(key.id, { overlapSec })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    },
  );
});

describe('the file of keys', () => {
  const spoiled: [string, () => void, RegExp][] = [
    ['cut short', () => writeFileSync(file(), readFileSync(file()).subarray(0, -20)), /not what was written/],
    ['empty', () => writeFileSync(file(), ''), /not what was written/],
    [
      'given a scope that there is not',
      () => writeFileSync(file(), readFileSync(file(), 'utf8').replace('"execute"', '"admin"')),
      /not what was written/,
    ],
    [
      'given a member that there is not',
      () => writeFileSync(file(), readFileSync(file(), 'utf8').replace('"name"', '"nom": 1, "name"')),
      /not what was written/,
    ],
    ['writable by others', () => chmodSync(file(), 0o666), /others may write it/],
    [
      'a link',
      () => {
        renameSync(file(), join(root, 'elsewhere'));
        symlinkSync(join(root, 'elsewhere'), file());
      },
      /it is a link/,
    ],
    ['in a folder that others may use', () => chmodSync(join(root, 'keys'), 0o755), /others may use it/],
  ];
  if (process.getuid?.() === 0) {
    spoiled.push(['of another user', () => chownSync(file(), 65534, 65534), /belongs to the user 65534/]);
    spoiled.push([
      'in a folder of another user',
      () => chownSync(join(root, 'keys'), 65534, 65534),
      /belongs to the user 65534/,
    ]);
  }

  it.each(spoiled)(
    'is not believed where it is %s: no key holds, and it is told once',
    async (_, spoil, reason) => {
      const { key, secret } = await make();
      const server = open();
      expect(server.authenticate(secret)).toEqual(key);
      spoil();
      const before = existsSync(file()) ? readFileSync(file()) : undefined;
      expect([1, 2].map(() => server.authenticate(secret))).toEqual([undefined, undefined]);
      expect(warnings).toEqual([expect.stringMatching(reason)]);
      expect(() => server.list()).toThrow(reason);
      await expect(make()).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(reason),
      });
      await expect(server.revoke(key.id)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
      expect(existsSync(file()) ? readFileSync(file()) : undefined).toEqual(before);
    },
  );

  it('holds all that several make at the same time', async () => {
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, index) => open().create({ name: `key ${index}`, scopes: ['execute'] })),
    );
    const server = open();
    expect(made.map(({ secret }) => server.authenticate(secret)?.name)).toEqual(
      made.map(({ key }) => key.name),
    );
    expect(readdirSync(join(root, 'keys'))).toEqual(['keys.json']);
  });

  it('is cleared of what a process that died was writing, and is believed again once it is repaired', async () => {
    const { key, secret } = await make();
    const whole = readFileSync(file());
    writeFileSync(join(root, 'keys/keys.json.part-0123456789abcdef'), 'half');
    writeFileSync(file(), 'half');
    expect(keyring.authenticate(secret)).toBeUndefined();
    writeFileSync(file(), whole);
    expect(keyring.authenticate(secret)).toEqual(key);
    await make();
    expect(readdirSync(join(root, 'keys'))).toEqual(['keys.json']);
  });

  it('has a folder in the state of the user, or none', () => {
    expect(keysFolder({ env: { XDG_STATE_HOME: '/state' } })).toBe('/state/glovebox/keys');
  });
});
