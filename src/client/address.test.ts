import { describe, expect, it } from 'vitest';
import { serverOf } from './address.ts';

const KEY = 'gbx_secret-key';

describe('serverOf', () => {
  it.each([
    ['https://glovebox.example', 'https://glovebox.example/'],
    ['https://glovebox.example/below/this', 'https://glovebox.example/below/this/'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080/'],
    ['http://127.8.9.1:8080/', 'http://127.8.9.1:8080/'],
    ['http://localhost', 'http://localhost/'],
    ['http://[::1]:80', 'http://[::1]/'],
    // As every reader of addresses takes them: all of these are 127.0.0.1.
    ['http://2130706433', 'http://127.0.0.1/'],
  ])('takes %s', (url, base) => {
    expect(serverOf(url, KEY, false).base.href).toBe(base);
  });

  it.each([
    'http://glovebox.example',
    'http://127.0.0.1.glovebox.example',
    'http://localhost.glovebox.example',
    'http://10.0.0.1:8080',
    'http://[::2]',
    'http://0.0.0.0:8080',
  ])('refuses to send the key in clear to %s, unless it is told to', (url) => {
    expect(() => serverOf(url, KEY, false)).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', hint: expect.stringContaining('allowInsecure') }),
    );
    expect(serverOf(url, KEY, true).base.protocol).toBe('http:');
  });

  it.each([
    ['no address', `${KEY}`],
    ['another protocol', `ftp://${KEY}`],
    ['a name and a password', `https://name:${KEY}@glovebox.example`],
    ['a query', `https://glovebox.example/?key=${KEY}`],
    ['a fragment', `https://glovebox.example/#${KEY}`],
  ])('refuses %s, and does not repeat it', (_, url) => {
    const refused = thrown(() => serverOf(url, KEY, true));
    expect(refused).toMatchObject({ code: 'INPUT_INVALID' });
    expect(JSON.stringify(refused)).not.toContain(KEY);
  });

  it.each([undefined, '', `${KEY}\n`, `${KEY} `, 'é', 'x'.repeat(513)])(
    'refuses %j as a key, and does not repeat it',
    (key) => {
      const refused = thrown(() => serverOf('https://glovebox.example', key, false));
      expect(refused).toMatchObject({ code: 'INPUT_INVALID' });
      expect(JSON.stringify(refused)).not.toContain(KEY);
    },
  );
});

function thrown(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
