import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildImage, buildPath, findBase } from './build.ts';
import { Engine } from './engine.ts';

describe('the request of a build', () => {
  it('asks for the classic builder, and never for a pull', () => {
    const [path, query] = buildPath({
      tag: 'a/b:c',
      buildArguments: { BASE_IMAGE: 'abc', PACKAGES: 'numpy pandas==2.2.3' },
    }).split('?');
    expect(path).toBe('/build');
    expect(Object.fromEntries(new URLSearchParams(query))).toEqual({
      version: '1',
      t: 'a/b:c',
      rm: '1',
      forcerm: '1',
      buildargs: '{"BASE_IMAGE":"abc","PACKAGES":"numpy pandas==2.2.3"}',
      labels: expect.stringMatching(/^\{"io\.glovebox\.version":"\d+\.\d+\.\d+"\}$/),
    });
  });
});

/** An engine that has one image, and refuses every build. */
describe('an engine', () => {
  const asked: string[] = [];
  let folder = '';
  let server: Server;
  let engine: Engine;

  beforeEach(async () => {
    asked.length = 0;
    folder = mkdtempSync(join(tmpdir(), 'gbx-engine-'));
    const socketPath = join(folder, 'engine.sock');
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url?.split('?')[0]}`);
      const isImage = request.url === '/images/here%3Alatest/json';
      response.statusCode = isImage ? 200 : request.method === 'POST' ? 400 : 404;
      response.end(JSON.stringify(isImage ? { Id: 'sha256:abc', Size: 1 } : { message: 'no' }));
    });
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    engine = new Engine({ socketPath, url: `unix://${socketPath}`, origin: 'the test' });
  });
  afterEach(async () => {
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  });

  it('starts from the id of a base that it has', async () => {
    expect(await findBase(engine, 'here:latest', { mayPull: false, makeBase: 'x' })).toBe('abc');
  });

  it('starts from a base that it has not only where it may pull one', async () => {
    await expect(
      findBase(engine, 'gone:1', { mayPull: false, makeBase: '/p/base.sh' }),
    ).rejects.toMatchObject({
      code: 'RUNTIME_UNAVAILABLE',
      message: 'There is no image gone:1 on this engine to start from, and nothing is pulled silently.',
      hint: 'Run: docker pull gone:1 (or add --pull). Without a registry: /p/base.sh makes a base from Debian packages.',
    });
    expect(await findBase(engine, 'gone:1', { mayPull: true, makeBase: 'x' })).toBe('gone:1');
    expect(asked).toEqual(['GET /images/gone%3A1/json', 'GET /images/gone%3A1/json']);
  });

  it('that does not take a build is quoted', async () => {
    const dockerfile = Buffer.from('FROM here\n');
    await expect(
      buildImage(engine, {
        tag: 'Wrong Name',
        context: [{ name: 'Dockerfile', mode: 0o644, size: dockerfile.length, content: [dockerfile] }],
        buildArguments: {},
      }),
    ).rejects.toMatchObject({ code: 'INPUT_INVALID', message: 'The engine does not take this build: no' });
  });
});
