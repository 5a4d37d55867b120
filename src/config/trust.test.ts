import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sha256, TrustStore } from './trust.ts';

const PATH = '/place/glovebox.yaml';
const CONTENT = Buffer.from('security: {}\n');

let state: string;
let store: TrustStore;
const folder = (): string => join(state, 'trusted');
const record = (path = PATH): string => join(folder(), `${sha256(path)}.json`);

beforeEach(() => {
  state = realpathSync(mkdtempSync(join(tmpdir(), 'trust-test-')));
  store = new TrustStore(state);
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

describe('a trusted file', () => {
  it('is unknown before anybody trusts it, and looking makes nothing', () => {
    expect(store.trustOf(PATH, CONTENT)).toEqual({ is: 'unknown' });
    expect(store.list()).toEqual({ pins: [], unusable: [] });
    expect(store.remove(PATH)).toBe(false);
    expect(readdirSync(state)).toEqual([]);
  });

  it('is that content at that path', () => {
    const pin = store.pin(PATH, CONTENT);
    expect(pin).toEqual({ path: PATH, sha256: sha256(CONTENT), trustedAt: expect.any(String) });
    expect(new TrustStore(state).trustOf(PATH, CONTENT)).toEqual({ is: 'trusted', pin });
    expect(sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('is kept in a file and a folder of this user alone', () => {
    store.pin(PATH, CONTENT);
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
    expect(statSync(record()).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder())).toEqual([`${sha256(PATH)}.json`]);
  });

  it.each([
    ['one changed byte', Buffer.from('security: {}\r')],
    ['one byte more', Buffer.from('security: {}\n ')],
    ['one byte less', Buffer.from('security: {}')],
    ['a byte order mark, which the parser does not see', Buffer.from('\ufeffsecurity: {}\n')],
    ['nothing', Buffer.alloc(0)],
  ])('has changed with %s', (_, content) => {
    const pin = store.pin(PATH, CONTENT);
    expect(store.trustOf(PATH, content)).toEqual({ is: 'changed', pin });
  });

  it('is no file with the same content at another path', () => {
    store.pin(PATH, CONTENT);
    expect(store.trustOf('/place/below/glovebox.yaml', CONTENT)).toEqual({ is: 'unknown' });
  });

  it('is trusted with its latest content only', () => {
    store.pin(PATH, Buffer.from('before'));
    store.pin(PATH, CONTENT);
    expect(store.trustOf(PATH, Buffer.from('before'))).toMatchObject({ is: 'changed' });
    expect(store.trustOf(PATH, CONTENT)).toMatchObject({ is: 'trusted' });
    expect(store.list().pins).toHaveLength(1);
  });

  it('is trusted no more when it is removed', () => {
    store.pin(PATH, CONTENT);
    store.pin('/other/glovebox.yaml', CONTENT);
    expect(store.remove(PATH)).toBe(true);
    expect(store.remove(PATH)).toBe(false);
    expect(store.trustOf(PATH, CONTENT)).toEqual({ is: 'unknown' });
    expect(store.list().pins.map(({ path }) => path)).toEqual(['/other/glovebox.yaml']);
  });
});

describe('what somebody else could have written', () => {
  const unusable = (reason: string) => ({ is: 'unusable', reason: expect.stringContaining(reason) });

  beforeEach(() => {
    store.pin(PATH, CONTENT);
    expect(store.trustOf(PATH, CONTENT)).toMatchObject({ is: 'trusted' });
  });

  it('is not believed: a folder that others may use', () => {
    chmodSync(folder(), 0o770);
    expect(store.trustOf(PATH, CONTENT)).toEqual(unusable('others may use it: its mode is 770'));
    const refused = expect.objectContaining({ code: 'CONFIG_INVALID' });
    expect(() => store.pin(PATH, CONTENT)).toThrow(refused);
    expect(() => store.list()).toThrow(refused);
    expect(() => store.remove(PATH)).toThrow(refused);
  });

  it('is not believed: a folder in one that everybody may write to', () => {
    chmodSync(state, 0o777);
    expect(store.trustOf(PATH, CONTENT)).toEqual(unusable('everybody may rename'));
  });

  it('is not believed: a link to a folder', () => {
    renameSync(folder(), join(state, 'elsewhere'));
    symlinkSync(join(state, 'elsewhere'), folder());
    expect(store.trustOf(PATH, CONTENT)).toEqual(unusable('it is a link'));
  });

  it('is not believed: a file that others may write', () => {
    chmodSync(record(), 0o620);
    expect(store.trustOf(PATH, CONTENT)).toEqual(unusable('others may write it: its mode is 620'));
    expect(store.list()).toEqual({ pins: [], unusable: [expect.stringContaining(record())] });
  });

  it('is not believed: a link to a file', () => {
    renameSync(record(), join(state, 'record'));
    symlinkSync(join(state, 'record'), record());
    expect(store.trustOf(PATH, CONTENT)).toEqual(unusable('it is a link'));
  });

  it('is not believed: a file of somebody else', (context) => {
    if (process.getuid?.() !== 0) return context.skip('only root can give a file away');
    chownSync(record(), 1234, 1234);
    expect(store.trustOf(PATH, CONTENT)).toEqual(unusable('it belongs to the user 1234'));
  });

  it('is not believed: the record of another path', () => {
    writeFileSync(record('/evil/glovebox.yaml'), readFileSync(record()), { mode: 0o600 });
    expect(store.trustOf('/evil/glovebox.yaml', CONTENT)).toEqual(unusable('names another path'));
    expect(store.list()).toEqual({
      pins: [expect.objectContaining({ path: PATH })],
      unusable: [expect.stringContaining('names another path')],
    });
  });
});

describe('a record that is not whole', () => {
  const whole = { path: PATH, sha256: sha256(CONTENT), trustedAt: '2026-11-21T00:00:00.000Z' };
  const put = (text: string): void => {
    mkdirSync(folder(), { mode: 0o700 });
    writeFileSync(record(), text, { mode: 0o600 });
  };

  it('is a record otherwise', () => {
    put(JSON.stringify(whole));
    expect(store.trustOf(PATH, CONTENT)).toEqual({ is: 'trusted', pin: whole });
  });

  it.each([
    ['nothing', ''],
    ['half of it', JSON.stringify(whole).slice(0, -10)],
    ['no object', 'null'],
    ['a list', '[]'],
    ['no path', JSON.stringify({ ...whole, path: undefined })],
    ['no hash', JSON.stringify({ ...whole, sha256: undefined })],
    ['a hash that is none', JSON.stringify({ ...whole, sha256: '' })],
    ['a list of hashes', JSON.stringify({ ...whole, sha256: [whole.sha256] })],
    ['no time', JSON.stringify({ ...whole, trustedAt: 'soon' })],
    ['too much', ' '.repeat(40_000) + JSON.stringify(whole)],
  ])('is not believed: %s', (_, text) => {
    put(text);
    expect(store.trustOf(PATH, CONTENT)).toMatchObject({ is: 'unusable' });
    expect(store.list()).toEqual({ pins: [], unusable: [expect.stringContaining(record())] });
  });

  it('is not believed: a folder, or a pipe, which is not waited for', () => {
    mkdirSync(record(), { recursive: true, mode: 0o700 });
    expect(store.trustOf(PATH, CONTENT)).toMatchObject({ is: 'unusable' });
    rmSync(record(), { recursive: true });
    execFileSync('mkfifo', [record()]);
    expect(store.trustOf(PATH, CONTENT)).toMatchObject({ is: 'unusable' });
  });

  it('is replaced by trusting anew, and can be removed', () => {
    put('{');
    store.pin(PATH, CONTENT);
    expect(store.trustOf(PATH, CONTENT)).toMatchObject({ is: 'trusted' });
    writeFileSync(record(), '{', { mode: 0o600 });
    expect(store.remove(PATH)).toBe(true);
    expect(store.trustOf(PATH, CONTENT)).toEqual({ is: 'unknown' });
  });

  it('is not there where the state folder is a file', () => {
    writeFileSync(join(state, 'file'), '');
    expect(new TrustStore(join(state, 'file')).trustOf(PATH, CONTENT)).toEqual({ is: 'unknown' });
  });
});
