import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactDeep, redactor } from './redact.ts';

const nothing = redactor([]);

// Put together here, so that no scanner of repositories takes them for real ones.
const letters = (count: number) => 'aB3'.repeat(count).slice(0, count);
const keys = {
  OpenAI: `sk-${letters(48)}`,
  'OpenAI project': `sk-proj-${letters(20)}_${letters(20)}-${letters(20)}`,
  Anthropic: `sk-ant-api03-${letters(60)}-${letters(10)}`,
  'GitHub personal': `ghp_${letters(36)}`,
  'GitHub OAuth': `gho_${letters(36)}`,
  'GitHub server': `ghs_${letters(36)}`,
  'GitHub fine-grained': `github_pat_${letters(22)}_${letters(59)}`,
  'AWS key id': `AKIA${'A2'.repeat(8)}`,
  Google: `AIza${letters(35)}`,
  Slack: `xoxb-${'12'.repeat(6)}-${letters(24)}`,
  Stripe: `sk_live_${letters(24)}`,
  npm: `npm_${letters(36)}`,
  PyPI: `pypi-${letters(100)}`,
  'Hugging Face': `hf_${letters(34)}`,
  JWT: `eyJ${letters(20)}.eyJ${letters(40)}.${letters(43)}`,
};
const pemBody = Array.from({ length: 5 }, () => `${letters(62)}+/`).join('\n');
const pem = (label: string) =>
  `-----BEGIN ${label}PRIVATE KEY-----\n${pemBody}\n-----END ${label}PRIVATE KEY-----`;

describe('given values', () => {
  const redact = redactor(['s3cret/va lue+"\n', 'abc']);

  it('are replaced in every form that they are printed in', () => {
    const secret = 's3cret/va lue+"\n';
    const forms = [
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      encodeURIComponent(secret).toLowerCase(),
      's3cret%2Fva+lue%2B%22%0A',
      Buffer.from(secret).toString('base64'),
      Buffer.from(secret).toString('base64url'),
    ];
    for (const form of forms) expect(redact(`<${form}>`)).toBe('<[redacted]>');
  });

  it('are found in base64 of something longer, wherever they stand in it', () => {
    const token = 'correct-horse-battery';
    for (const before of ['', 'u', 'us', 'usr', 'user:']) {
      const encoded = Buffer.from(`${before}${token} and more`).toString('base64');
      const left = redactor([token])(encoded);
      expect(left).toContain('[redacted]');
      expect(Buffer.from(left.replace('[redacted]', ''), 'base64').toString('latin1')).not.toContain('horse');
    }
  });

  it('stay where they have fewer than four characters', () => {
    expect(redact('abc')).toBe('abc');
  });

  it('are replaced longest first, and what overlaps goes as one', () => {
    expect(redactor(['pass', 'password1'])('a password1 b pass')).toBe('a [redacted] b [redacted]');
    expect(redactor(['abcd', 'cdefgh'])('<abcdefgh>')).toBe('<[redacted]>');
    expect(redactor(['aaaa'])('<aaaaaaa>')).toBe('<[redacted]>');
  });

  it('take lone surrogates', () => {
    expect(redactor(['\uD800abcd'])('<\uD800abcd>')).toBe('<[redacted]>');
  });
});

describe('well-known shapes', () => {
  it.each(Object.entries(keys))('takes out a key of the kind %s', (_kind, key) => {
    expect(nothing(`key = "${key}"; print(1)`)).toBe('key = "[redacted]"; print(1)');
    expect(nothing(`KEY=${key}`)).toBe('KEY=[redacted]');
    expect(nothing(key)).toBe('[redacted]');
  });

  it.each(['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED '])('takes out a private key in PEM, "%s"', (label) => {
    expect(nothing(`a\n${pem(label)}\nb`)).toBe('a\n[redacted]\nb');
    expect(nothing(JSON.stringify({ key: pem(label) }))).toBe('{"key":"[redacted]"}');
  });

  it('takes out what is left of a private key that was cut', () => {
    const half = pem('').slice(0, 100);
    const rest = pem('').slice(-100);
    expect(nothing(`${half}... (output truncated)\n${rest}!`)).toBe(
      '[redacted]... (output truncated)[redacted]!',
    );
    const encryptedHeader = 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n';
    expect(nothing(pem('RSA ').replace('-----\n', `-----\n${encryptedHeader}`))).not.toContain(letters(62));
  });

  it.each([
    [`aws_secret_access_key = ${letters(38)}/+`, 'aws_secret_access_key = [redacted]'],
    [`"SecretAccessKey": "${letters(40)}"`, '"SecretAccessKey": "[redacted]"'],
    [`export AWS_SESSION_TOKEN='${letters(200)}=='`, "export AWS_SESSION_TOKEN='[redacted]'"],
    [`Authorization: Bearer ${letters(12)}`, 'Authorization: Bearer [redacted]'],
    [`{"authorization": "Basic ${letters(12)}=="}`, '{"authorization": "Basic [redacted]"}'],
    [`bearer ${letters(30)}.x`, 'bearer [redacted]'],
    ['postgres://user:p@ss@host/db', 'postgres://user:[redacted]@host/db'],
    ['redis://:pass@host:6379', 'redis://:[redacted]@host:6379'],
    [`https://${keys['GitHub personal']}:x-oauth@github.com`, 'https://[redacted]:[redacted]@github.com'],
  ])('keeps the name and takes the value out of %s', (text, expected) => {
    expect(nothing(text)).toBe(expected);
  });

  it.each([
    'import os\nprint(os.environ)\n',
    'risk-management-and-compliance-review',
    'sk-short',
    'http://localhost:8080/path and me@example.com',
    'git@github.com:owner/repository.git',
    'the bearer of this letter',
    'if line == "-----BEGIN PRIVATE KEY-----": read(line)'.replace(
      '-----BEGIN PRIVATE KEY-----',
      '-----BEGIN CERTIFICATE-----',
    ),
    `sha256:${'0123456789abcdef'.repeat(4)}`,
    'AKIAnothing AKIA1234',
    'npm_config_registry hf_hub_download pypi-server',
  ])('leaves %j alone', (text) => {
    expect(nothing(text)).toBe(text);
  });
});

describe('any text', () => {
  const fragment = fc.oneof(
    fc.constantFrom(...Object.values(keys), pem(''), pem('').slice(0, 80), pem('').slice(-80)),
    fc.constantFrom(
      '[redacted]',
      '[reda',
      'cted]',
      'SECRET12',
      'sECRE',
      'redacted',
      '://',
      ':',
      '@',
      '/',
      '-',
      '_',
      '.',
    ),
    fc.constantFrom(
      'authorization: ',
      'bearer ',
      'aws_secret_key=',
      letters(40),
      ' ',
      '\n',
      '"',
      'eyJ',
      'sk-',
      'a',
    ),
    fc.string({ maxLength: 4 }),
  );
  const text = fc.array(fragment, { maxLength: 12 }).map((fragments) => fragments.join(''));
  const secrets = fc.array(
    fc.oneof(
      fc.constantFrom('SECRET12', 'redacted', 'a[red', 'ed]s', '12sk', '[redacted]', 'ECRET', letters(10)),
      fc.string(),
    ),
  );

  it('is the same after a second time', () => {
    fc.assert(
      fc.property(secrets, text, (values, input) => {
        const redact = redactor(values);
        const once = redact(input);
        expect(redact(once)).toBe(once);
      }),
      { numRuns: 3000 },
    );
  });

  it('holds no secret any more, unless the text between redactions spells one with the mark', () => {
    fc.assert(
      fc.property(secrets, text, (values, input) => {
        const pieces = redactor(values)(input).split('[redacted]');
        for (const value of values.filter((one) => one.length >= 4)) {
          expect(pieces.some((piece) => piece.includes(value))).toBe(false);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('1 MB of hostile text', () => {
  const units = [
    'a',
    ' ',
    '-',
    'sk-',
    'sk-a',
    '-sk-ant-aaaa',
    'eyJ',
    '-eyJaaaaaaaa',
    'eyJaaaaaaaa.',
    '.eyJaaaaaaaa',
    'AKIA',
    'xoxb-',
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN ',
    '-----BEGIN RSA PRIVATE KEY-----\nabc',
    '-----END ',
    'a-----END ',
    '://',
    '://a:',
    'http://a:b',
    '://a:b@',
    ':',
    '@',
    'authorization: bearer ',
    'authorization:    ',
    'bearer ',
    'aws_secret_key',
    'aws_secret_key="\'',
    'secret_access_key=    ',
    'A\n',
    'ghp_',
    'gho_aaaaaaaaaaaaaaaaaaaaaaaaaaaaa ',
    '[redacted]',
    '[redacted',
    'pypi-',
    'SECRET-VALUE',
    'SECRET-VALU',
    '/',
    '+/',
    '\\',
    '\n',
  ];
  const redact = redactor([
    'SECRET-VALUE',
    letters(50),
    ...Array.from({ length: 50 }, (_, i) => `value number ${i}`),
  ]);

  it.each(units)('made of %j takes less than a second', (unit) => {
    const hostile = unit.repeat(Math.ceil(2 ** 20 / unit.length));
    const before = process.cpuUsage();
    redact(hostile);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(1);
  });
});

describe('redactDeep', () => {
  const redact = redactor(['secret', 'name']);

  it('reaches every string and key and leaves the rest', () => {
    const value = { a: ['a secret', 1, null, true], secret: { 'my secret': undefined }, secretsecret: 'x' };
    expect(redactDeep(value, redact)).toStrictEqual({
      a: ['a [redacted]', 1, null, true],
      '[redacted]': { 'my [redacted]': undefined },
      '[redacted] (2)': 'x',
    });
  });

  it('touches keys only in the maps that it is told of', () => {
    const value = { name: 'a name', files: { name: { name: 1 } }, list: [{ name: 'secret' }] };
    expect(redactDeep(value, redact, (name) => name === 'files')).toStrictEqual({
      name: 'a [redacted]',
      files: { '[redacted]': { name: 1 } },
      list: [{ name: '[redacted]' }],
    });
  });

  it('keeps a key called __proto__ a plain key', () => {
    const value = JSON.parse('{"__proto__": "secret"}');
    expect(Object.entries(redactDeep(value, redact))).toEqual([['__proto__', '[redacted]']]);
  });
});
