import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSandboxError } from '../errors.ts';
import { parseHost } from './host.ts';
import { compileRules, judge, parseAllowedDomain, parseMapping, WrongEntry } from './match.ts';

const host = (text: string) => parseHost(text) ?? expect.fail(`${text} is no host`);

function verdict(allowedDomains: string[], name: string, port = 443): string {
  return judge(compileRules({ allowedDomains, hostMap: {} }), { host: host(name), port })?.code ?? 'allowed';
}

describe('an exact entry', () => {
  it.each(['a.test', 'A.TEST', 'a.test.'])('lets its own name pass, written as %j', (name) => {
    expect(verdict(['a.test'], name)).toBe('allowed');
    expect(verdict([name], 'a.test')).toBe('allowed');
  });

  it.each([
    'b.test',
    'x.a.test',
    'aa.test',
    'a.test.evil.test',
    'a.tes',
    'a-test',
    'test',
    'evila.test',
    'a.testa',
  ])('does not let %j pass', (name) => {
    expect(verdict(['a.test'], name)).toBe('not_listed');
  });
});

describe('a star', () => {
  it.each(['x.a.test', 'x.y.a.test', 'X.A.Test.'])('lets %j below it pass', (name) => {
    expect(verdict(['*.a.test'], name)).toBe('allowed');
  });

  it.each(['a.test', 'evila.test', 'a.test.evil.test', 'x.b.test', 'test'])(
    'does not let %j pass',
    (name) => {
      expect(verdict(['*.a.test'], name)).toBe('not_listed');
    },
  );
});

describe('ports', () => {
  it('are 80 and 443 unless one is named', () => {
    expect([80, 443, 8080, 22, 1].map((port) => verdict(['a.test'], 'a.test', port))).toEqual([
      ...['allowed', 'allowed', 'port', 'port', 'port'],
    ]);
  });

  it('are the one that is named, and then not the usual ones', () => {
    expect([80, 443, 8080].map((port) => verdict(['a.test:8080'], 'a.test', port))).toEqual([
      ...['port', 'port', 'allowed'],
    ]);
    expect([80, 443, 8080].map((port) => verdict(['*.a.test:443'], 'x.a.test', port))).toEqual([
      ...['port', 'allowed', 'port'],
    ]);
  });

  it('of several entries for a name add up', () => {
    const rules = ['a.test', 'a.test:8080', '*.test:9090'];
    expect([80, 8080, 9090, 1].map((port) => verdict(rules, 'a.test', port))).toEqual([
      ...['allowed', 'allowed', 'allowed', 'port'],
    ]);
  });
});

it('lets nobody pass without an entry', () => {
  expect(verdict([], 'a.test')).toBe('not_listed');
});

it('never lets an address pass, in any notation', () => {
  const wide = ['*.a.test', '*.test', 'localhost'];
  for (const address of [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '[::1]',
    '8.8.8.8',
    'x.a.test.1',
  ]) {
    expect(verdict(wide, address)).toBe('address');
  }
});

it('judges a name as it is dialled: what passes is an entry, or ends in one at a dot', () => {
  const label = fc.constantFrom('a', 'b', 'test', 'A', 'xn--a', '1a');
  const dotted = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), dotted), { maxLength: 3 }), dotted, (entries, name) => {
      const rules = entries.map(([below, entry]) => `${below ? '*.' : ''}${entry}`);
      const canonical = host(name).name;
      const expected = entries.some(([below, entry]) => {
        const wanted = entry.toLowerCase().split('.');
        const labels = canonical.split('.');
        const tail = labels.slice(-wanted.length).join('.') === wanted.join('.');
        return tail && (below ? labels.length > wanted.length : labels.length === wanted.length);
      });
      expect(verdict(rules, name)).toBe(expected ? 'allowed' : 'not_listed');
    }),
    { numRuns: 5000 },
  );
});

describe('an entry', () => {
  it('is understood', () => {
    expect(parseAllowedDomain('*.A.test:8443')).toEqual({ name: 'a.test', below: true, ports: [8443] });
    expect(parseAllowedDomain('a.test.')).toEqual({ name: 'a.test', below: false, ports: [80, 443] });
    expect(parseAllowedDomain('xn--mnchen-3ya.test')).toMatchObject({ name: 'xn--mnchen-3ya.test' });
  });

  it.each([
    ['', 'It is empty.'],
    ['https://a.test', 'It has a scheme'],
    ['a.test/path', 'It has a path'],
    ['user@a.test', 'It has a user'],
    ['*', 'It would allow every domain'],
    ['*.', 'It would allow every domain'],
    ['*:443', 'It would allow every domain'],
    ['*.:443', 'It would allow every domain'],
    ['*a.test', 'A star can only stand'],
    ['a.*.test', 'A star can only stand'],
    ['*.*.test', 'A star can only stand'],
    ['**.a.test', 'A star can only stand'],
    ['münchen.test', 'It has letters beyond ASCII'],
    ['ａ.test', 'It has letters beyond ASCII'],
    ['127.0.0.1', 'It is an address'],
    ['*.0.0.1', 'It is an address'],
    ['2130706433', 'It is an address'],
    ['::1', 'It is an address'],
    ['[::1]:80', 'It is an address'],
    ['.a.test', 'It is not a domain name'],
    ['a..test', 'It is not a domain name'],
    [' a.test', 'It is not a domain name'],
    ['a.test ', 'It is not a domain name'],
    ['a.test\n', 'It is not a domain name'],
    ['a.test\0', 'It is not a domain name'],
    ['a_b.test', 'It is not a domain name'],
    ['a.test:0', 'It is not a domain name'],
    ['a.test:65536', 'It is not a domain name'],
    ['a.test:http', 'It is not a domain name'],
    ['a.test:', 'It is not a domain name'],
    ['a.test,b.test', 'It is not a domain name'],
    ['%61.test', 'It is not a domain name'],
    ['a\\test', 'It is not a domain name'],
  ])('such as %j is refused', (entry, reason) => {
    expect(() => parseAllowedDomain(entry)).toThrow(WrongEntry);
    expect(() => parseAllowedDomain(entry)).toThrow(reason);
  });

  it('that is wrong makes all rules wrong', () => {
    const compile = () => compileRules({ allowedDomains: ['a.test', 'https://b.test'], hostMap: {} });
    expect(compile).toThrow('The allowed domain "https://b.test" is not usable. It has a scheme');
    expect(compile).toThrow(
      expect.toSatisfy((error) => isSandboxError(error) && error.code === 'INPUT_INVALID'),
    );
  });
});

describe('a mapping', () => {
  it.each([
    ['a.test', '127.0.0.1:8080', { name: 'a.test', endpoint: { address: '127.0.0.1', port: 8080 } }],
    ['A.Test.', '[::1]:1', { name: 'a.test', endpoint: { address: '::1', port: 1 } }],
    ['a.test', '169.254.169.254:80', { name: 'a.test', endpoint: { address: '169.254.169.254', port: 80 } }],
  ])('of %j to %j is understood', (name, target, mapping) => {
    expect(parseMapping(name, target)).toEqual(mapping);
  });

  it.each([
    ['*.a.test', '127.0.0.1:80'],
    ['127.0.0.1', '127.0.0.1:80'],
    ['', '127.0.0.1:80'],
    ['a.test:80', '127.0.0.1:80'],
    ['a.test', '127.0.0.1'],
    ['a.test', '127.0.0.1:0'],
    ['a.test', '127.0.0.1:65536'],
    ['a.test', '127.1:80'],
    ['a.test', '0x7f.0.0.1:80'],
    ['a.test', '127.0.0.01:80'],
    ['a.test', 'b.test:80'],
    ['a.test', '::1:80'],
    ['a.test', '[::1%lo]:80'],
    ['a.test', '[127.0.0.1]:80'],
    ['a.test', '127.0.0.1:80 '],
    ['a.test', ''],
  ])('of %j to %j is refused', (name, target) => {
    expect(() => parseMapping(name, target)).toThrow(WrongEntry);
  });

  it('of one name twice is refused', () => {
    const hostMap = { 'a.test': '127.0.0.1:1', 'A.test': '127.0.0.1:2' };
    expect(() => compileRules({ allowedDomains: [], hostMap })).toThrow('The same name is mapped twice.');
  });

  it('lets nobody pass by itself', () => {
    const rules = compileRules({ allowedDomains: [], hostMap: { 'a.test': '127.0.0.1:80' } });
    expect(judge(rules, { host: host('a.test'), port: 80 })?.code).toBe('not_listed');
  });
});

describe('a refusal', () => {
  it('says what is allowed, and what to ask for', () => {
    const rules = compileRules({ allowedDomains: ['a.test', '*.b.test', 'c.test:8080'], hostMap: {} });
    expect(judge(rules, { host: host('evil.test'), port: 443 })?.message).toBe(
      'Glovebox: "evil.test" is not among the allowed domains (a.test, *.b.test, c.test:8080). Ask the operator to allow it (--allow-domain evil.test).',
    );
    expect(judge(rules, { host: host('a.test'), port: 22 })?.message).toBe(
      'Glovebox: "a.test" is allowed on port 80 and 443 only, not on 22. Ask the operator to allow it (--allow-domain a.test:22).',
    );
    expect(judge(rules, { host: host('evil.test'), port: 22 })?.message).toContain(
      '(--allow-domain evil.test:22)',
    );
  });

  it('is not longer for a long list', () => {
    const allowedDomains = Array.from({ length: 500 }, (_, index) => `a${index}.test`);
    const rules = compileRules({ allowedDomains, hostMap: {} });
    expect(judge(rules, { host: host('evil.test'), port: 443 })?.message).toContain('a9.test and 490 more)');
  });
});
