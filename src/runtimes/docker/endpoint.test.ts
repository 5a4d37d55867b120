import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findEndpoints, parseEndpoint, usualSockets } from './endpoint.ts';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'endpoint-test-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(path: string, content: string): void {
  const file = join(home, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, content);
}

function makeContext(name: string, host: string): void {
  const id = createHash('sha256').update(name).digest('hex');
  write(
    `.docker/contexts/meta/${id}/meta.json`,
    JSON.stringify({ Name: name, Endpoints: { docker: { Host: host } } }),
  );
}

describe('an address', () => {
  it('is a socket or a host with a port', () => {
    expect(parseEndpoint('unix:///run/a b.sock', 'x')).toEqual({
      url: 'unix:///run/a b.sock',
      origin: 'x',
      socketPath: '/run/a b.sock',
    });
    expect(parseEndpoint('tcp://[::1]:2375', 'x')).toMatchObject({ host: '::1', port: 2375 });
    expect(parseEndpoint('https://engine.example:2376', 'x')).toMatchObject({
      host: 'engine.example',
      tls: {},
    });
  });

  it.each([
    'ssh://host',
    'npipe:////./pipe/docker_engine',
    'tcp://host',
    'tcp://host:99999',
    'unix://relative',
    'tcp://user@host:1',
    '',
  ])('is not %j', (url) => {
    expect(() => parseEndpoint(url, 'DOCKER_HOST')).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', hint: expect.stringContaining('unix:///path') }),
    );
  });
});

describe('the engine', () => {
  it('is the one that DOCKER_HOST names, and no other', () => {
    makeContext('other', 'unix:///run/other.sock');
    const environment = { DOCKER_HOST: 'unix:///run/mine.sock', DOCKER_CONTEXT: 'other' };
    expect(findEndpoints(environment, home)).toEqual([
      { url: 'unix:///run/mine.sock', origin: 'DOCKER_HOST', socketPath: '/run/mine.sock' },
    ]);
  });

  it('is reached with the certificates that DOCKER_CERT_PATH names', () => {
    write('certificates/ca.pem', 'CA');
    const environment = {
      DOCKER_HOST: 'tcp://host:2376',
      DOCKER_TLS_VERIFY: '1',
      DOCKER_CERT_PATH: join(home, 'certificates'),
    };
    expect(findEndpoints(environment, home)).toMatchObject([{ host: 'host', port: 2376, tls: { ca: 'CA' } }]);
  });

  it('is the one of the docker context in use, by variable or by its settings', () => {
    makeContext('colima', 'unix:///run/colima.sock');
    makeContext('named', 'unix:///run/named.sock');
    write('.docker/config.json', JSON.stringify({ currentContext: 'colima' }));
    expect(findEndpoints({}, home)).toMatchObject([{ socketPath: '/run/colima.sock' }]);
    expect(findEndpoints({ DOCKER_CONTEXT: 'named' }, home)).toMatchObject([
      { socketPath: '/run/named.sock' },
    ]);
  });

  it('is not guessed when the context in use is gone', () => {
    expect(() => findEndpoints({ DOCKER_CONTEXT: 'gone' }, home)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('"gone"') }),
    );
  });

  it('is looked for in the usual places otherwise, rootless ones included', () => {
    write('.docker/config.json', 'damaged');
    write('.docker/run/docker.sock', '');
    write('run/podman/podman.sock', '');
    const environment = { XDG_RUNTIME_DIR: join(home, 'run'), DOCKER_CONTEXT: 'default' };
    const found = findEndpoints(environment, home).map(({ url }) => url);
    expect(found).toContain(`unix://${home}/.docker/run/docker.sock`);
    expect(found).toContain(`unix://${home}/run/podman/podman.sock`);
    expect(usualSockets({}, '/home/me')[0]).toBe('/var/run/docker.sock');
  });
});
