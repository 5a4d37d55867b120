import { domainToASCII } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Host, parseAuthority, parseHost, parsePort } from './host.ts';

const name = (text: string): Host => ({ name: text, isAddress: false });
const address = (text: string): Host => ({ name: text, isAddress: true });

describe('a host', () => {
  it.each([
    ['a.test', 'a.test'],
    ['A.Test', 'a.test'],
    ['a.test.', 'a.test'],
    ['localhost', 'localhost'],
    ['a-b.c--d.test', 'a-b.c--d.test'],
    ['XN--Mnchen-3ya.test', 'xn--mnchen-3ya.test'],
    ['1.a', '1.a'],
    ['1e3.test', '1e3.test'],
    [`${'a'.repeat(63)}.test`, `${'a'.repeat(63)}.test`],
    [`${'a.'.repeat(126)}a`, `${'a.'.repeat(126)}a`],
  ])('%j is a name', (text, canonical) => {
    expect(parseHost(text)).toEqual(name(canonical));
  });

  it.each([
    '127.0.0.1',
    '127.0.0.1.',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0X7F.1',
    '0x7f.0x0.0x0.0x1',
    '0177.0.0.1',
    '017700000001',
    '0',
    '0x',
    '1.2.3.4.5',
    'a.test.1',
    '999.999.999.999',
    '08.8.8.8',
  ])('%j is an address to somebody', (text) => {
    expect(parseHost(text)?.isAddress).toBe(true);
  });

  it.each([
    ['[::1]', '[::1]'],
    ['[::FFFF:127.0.0.1]', '[::ffff:127.0.0.1]'],
    ['[64:ff9b::7f00:1]', '[64:ff9b::7f00:1]'],
  ])('%j is an address in brackets', (text, canonical) => {
    expect(parseHost(text)).toEqual(address(canonical));
  });

  it.each([
    '',
    '.',
    '..',
    '.a.test',
    'a..test',
    'a.test..',
    'a.test\0',
    'a.test\0.evil.test',
    'a.test\r\n',
    'a.test\n',
    '\na.test',
    'a.test ',
    ' a.test',
    'a.test\t',
    'a test',
    'user@a.test',
    'a.test%00',
    'a%2etest',
    'a.test\\',
    'a.test/',
    'a.test#',
    'a.test?',
    'a.test:80',
    'a_b.test',
    '-a.test',
    'a-.test',
    '*.a.test',
    'a.tést',
    'a。test',
    'ａ.test',
    '１２７.0.0.1',
    'a.test\u200b',
    'a.test\u00ad',
    '\u212aelvin.test',
    'ſ.test',
    'a.te\u0131t',
    `${'a'.repeat(64)}.test`,
    `${'a.'.repeat(127)}a`,
    '::1',
    '[::1',
    '::1]',
    '[]',
    '[::1%eth0]',
    '[::1%25eth0]',
    '[127.0.0.1]',
    '[a.test]',
    '[::1].a.test',
    '[v1.fe]',
    '[[::1]]',
    '[ ::1]',
    '(a.test)',
    'a,b.test',
    'a;b.test',
    "a'b.test",
    'a|b.test',
    '\u007fa.test',
    'a.test\u0085',
  ])('%j is none', (text) => {
    expect(parseHost(text)).toBeUndefined();
  });

  const odd = fc.string({ unit: 'binary', maxLength: 20 });
  const likely = fc
    .array(
      fc.constantFrom('a', 'B', '.', '-', '1', '0x', 'xn--', ':', '[', ']', '%', '@', '\0', ' ', 'é', '/'),
      {
        maxLength: 12,
      },
    )
    .map((parts) => parts.join(''));

  it('has nothing in it that anybody could read otherwise, and is the same when read again', () => {
    fc.assert(
      fc.property(fc.oneof(odd, likely), (text) => {
        const host = parseHost(text);
        if (host === undefined) return;
        expect(host.name).toMatch(/^(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]+\])$/);
        expect(host.name).not.toMatch(/^\.|\.\.|\.$/);
        expect(parseHost(host.name)).toEqual(host);
        expect(parseHost(host.name.toUpperCase())).toEqual(host);
      }),
      { numRuns: 20_000 },
    );
  });

  it('that is a name stays a name for those who fold what they read', () => {
    fc.assert(
      fc.property(fc.oneof(odd, likely), (text) => {
        const host = parseHost(text);
        if (host === undefined || host.isAddress || host.name.includes('xn--')) return;
        expect(domainToASCII(host.name)).toBe(host.name);
      }),
      { numRuns: 20_000 },
    );
  });
});

describe('a port', () => {
  it.each([
    ['1', 1],
    ['80', 80],
    ['65535', 65535],
  ])('%j is one', (text, port) => {
    expect(parsePort(text)).toBe(port);
  });

  it.each([
    '',
    '0',
    '00',
    '080',
    '65536',
    '99999',
    '100000',
    '+80',
    '-1',
    '8e1',
    '0x50',
    ' 80',
    '80 ',
    '8 0',
    '８０',
    '80\n',
  ])('%j is none', (text) => {
    expect(parsePort(text)).toBeUndefined();
  });
});

describe('an authority', () => {
  it.each([
    ['a.test:8080', undefined, { host: name('a.test'), port: 8080 }],
    ['A.TEST.:8080', undefined, { host: name('a.test'), port: 8080 }],
    ['a.test', 80, { host: name('a.test'), port: 80 }],
    ['[::1]:443', undefined, { host: address('[::1]'), port: 443 }],
    ['[::1]', 80, { host: address('[::1]'), port: 80 }],
  ])('%j is read', (text, fallback, authority) => {
    expect(parseAuthority(text, fallback)).toEqual(authority);
  });

  it.each([
    ['a.test', undefined],
    ['a.test:', 80],
    [':80', 80],
    ['', 80],
    ['a.test:80:80', 80],
    ['a.test:80@evil.test', 80],
    ['user:pass@a.test', 80],
    ['::1', 80],
    ['::1:80', 80],
    ['[::1]80', 80],
    ['[::1]:80]', 80],
    ['a.test:80\n', 80],
    ['a.test\n:80', 80],
    ['a.test:080', 80],
  ])('%j is not read', (text, fallback) => {
    expect(parseAuthority(text, fallback)).toBeUndefined();
  });
});
