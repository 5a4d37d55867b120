import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readStatus } from './status.ts';

async function statusOf(...chunks: string[]) {
  const stream = new PassThrough();
  const status = readStatus(stream);
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  stream.resume();
  return {
    ready: await status.ready,
    failure: await status.failure,
    started: await status.find(/"child-pid": *(\d+)\D/),
    exitCode: await status.find(/"exit-code": *(\d+)\D/),
  };
}

describe('the status that a launcher and its program report', () => {
  it('is read across chunks and lines', async () => {
    expect(
      await statusOf(
        '{"ready":true}\n{ "child-pid": 12',
        '34, "cgroup-namespace": 1\n, "x": 2 }\n',
        '{ "exit-code": 7 }\n',
      ),
    ).toEqual({ ready: true, started: '1234', exitCode: '7', failure: undefined });
  });

  it('is told as soon as it is there', async () => {
    const stream = new PassThrough();
    const started = readStatus(stream).find(/"child-pid": *(\d+)\D/);
    stream.write('{ "child-pid": 5 }\n');
    expect(await started).toBe('5');
  });

  it('lacks what was not said when it ended', async () => {
    expect(await statusOf('{ "child-pid": 5 }\n')).toEqual({
      ready: false,
      started: '5',
      exitCode: undefined,
      failure: undefined,
    });
  });

  it("holds the launcher's reason when nothing was started", async () => {
    expect(await statusOf('{"failed":"could not enter a cgroup"}\n')).toMatchObject({
      started: undefined,
      failure: 'could not enter a cgroup',
    });
  });
});
