import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readStatus } from './status.ts';
import { isAtLeastVersion } from './tools.ts';

async function statusOf(...chunks: string[]) {
  const stream = new PassThrough();
  const status = readStatus(stream);
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  stream.resume();
  return { started: await status.started, exitCode: await status.exitCode, failure: await status.failure };
}

describe('the status that bubblewrap reports', () => {
  it('is read across chunks and lines', async () => {
    expect(
      await statusOf('{ "child-pid": 12', '34, "cgroup-namespace": 1\n, "x": 2 }\n', '{ "exit-code": 7 }\n'),
    ).toEqual({
      started: 1234,
      exitCode: 7,
      failure: undefined,
    });
  });

  it('has no exit code when the isolation ended first', async () => {
    expect(await statusOf('{ "child-pid": 5 }\n')).toMatchObject({ started: 5, exitCode: undefined });
  });

  it("holds the launcher's reason when nothing was started", async () => {
    expect(await statusOf('{"failed":"could not enter a cgroup"}\n')).toEqual({
      started: undefined,
      exitCode: undefined,
      failure: 'could not enter a cgroup',
    });
  });
});

describe('versions', () => {
  it.each([
    ['0.8.0', true],
    ['0.8', true],
    ['0.11.1', true],
    ['1.0', true],
    ['0.6.1', false],
    ['0.7.99', false],
    ['unknown', false],
  ])('%s is at least 0.8.0: %s', (version, expected) => {
    expect(isAtLeastVersion(version, '0.8.0')).toBe(expected);
  });
});
