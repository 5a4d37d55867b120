import { describe, expect, it } from 'vitest';
import { proxyEnvironment } from './environment.ts';

const url = 'http://127.0.0.1:8118';
const inside = 'localhost,127.0.0.1,::1';

it('names the proxy for everybody, and nobody inside', () => {
  expect(proxyEnvironment({ port: 8118 })).toEqual({
    http_proxy: url,
    HTTP_PROXY: url,
    https_proxy: url,
    HTTPS_PROXY: url,
    all_proxy: url,
    ALL_PROXY: url,
    no_proxy: inside,
    NO_PROXY: inside,
    NODE_USE_ENV_PROXY: '1',
  });
});

describe('Node', () => {
  const variables = (nodeVersion: string): string[] =>
    Object.keys(proxyEnvironment({ port: 8118, nodeVersion })).filter((name) => name.startsWith('NODE_'));

  it.each(['22.21.0', 'v22.21.1', '24.5.0', '24.10.0', '25.0.0', '26.1.0'])(
    '%s is told to use it',
    (version) => {
      expect(variables(version)).toEqual(['NODE_USE_ENV_PROXY']);
    },
  );

  it.each([
    '18.18.0',
    '18.20.8',
    '20.6.0',
    '20.19.0',
    'v20.20.2',
    '21.0.0',
    '22.0.0',
    '22.20.0',
    '23.11.0',
    '24.0.0',
    '24.4.1',
  ])('%s is shown how', (version) => {
    expect(variables(version)).toEqual(['NODE_OPTIONS']);
  });

  it.each(['16.20.0', '18.17.1', '19.9.0', '20.5.1'])(
    '%s is left alone, since it would not start',
    (version) => {
      expect(variables(version)).toEqual([]);
    },
  );

  it('gets an option without a character that has a meaning in it', () => {
    const options = proxyEnvironment({ port: 8118, nodeVersion: '20.19.0' })['NODE_OPTIONS'];
    expect(options).toMatch(/^--import=data:text\/javascript;base64,[A-Za-z0-9+/=]+$/);
    expect(options?.length).toBeLessThan(8192);
  });
});
