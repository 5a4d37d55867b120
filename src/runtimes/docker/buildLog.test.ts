import { describe, expect, it } from 'vitest';
import { isSandboxError } from '../../errors.ts';
import { type BuildLine, buildLines } from './buildLog.ts';

async function read(messages: readonly object[], cut = Number.POSITIVE_INFINITY) {
  const bytes = Buffer.from(messages.map((message) => `${JSON.stringify(message)}\r\n`).join(''));
  async function* log() {
    for (let at = 0; at < bytes.length; at += cut) yield bytes.subarray(at, at + cut);
  }
  const lines: BuildLine[] = [];
  try {
    for await (const line of buildLines(log())) lines.push(line);
    return { lines };
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    const { code, message, hint, details } = error;
    return { lines, error: { code, message, hint, output: details['output'] } };
  }
}

describe('the log of a build', () => {
  it('is told step by step and line by line, however it is cut', async () => {
    const log = [
      { stream: 'Step 1/2 : FROM base' },
      { stream: '\n' },
      { stream: ' ---> abc\n' },
      { stream: 'Step 2/2 : RUN é' },
      { stream: '\n' },
      { stream: 'half' },
      { stream: ' a line\nand' },
      { stream: ' another\n' },
      { aux: { ID: 'sha256:abc' } },
    ];
    const expected = [
      { kind: 'step', text: 'Step 1/2 : FROM base' },
      { kind: 'output', text: ' ---> abc' },
      { kind: 'step', text: 'Step 2/2 : RUN é' },
      { kind: 'output', text: 'half a line' },
      { kind: 'output', text: 'and another' },
    ];
    expect(await read(log)).toEqual({ lines: expected });
    expect(await read(log, 1)).toEqual({ lines: expected });
  });

  it('tells of downloads, and which of it replaces what was said before', async () => {
    const log = [
      { status: 'Pulling from library/debian', id: 'latest' },
      { status: 'Downloading', id: 'abc', progressDetail: { current: 1 }, progress: '[>  ]' },
      { status: 'Status: Downloaded newer image' },
    ];
    expect(await read(log)).toEqual({
      lines: [
        { kind: 'output', text: 'latest: Pulling from library/debian' },
        { kind: 'progress', text: 'abc: Downloading [>  ]' },
        { kind: 'output', text: 'Status: Downloaded newer image' },
      ],
    });
  });

  it('ends with what a failed command said last, without colours', async () => {
    const { error } = await read([
      { stream: 'Step 1/2 : RUN old\nearlier\n' },
      { stream: 'Step 2/2 : RUN pip\n' },
      { stream: '\u001b[91mERROR: no such package\n\u001b[0m' },
      { stream: 'Removing intermediate container abc\n' },
      {
        error: "The command '/bin/sh -c …'",
        errorDetail: { code: 1, message: "The command '/bin/sh -c …'" },
      },
    ]);
    expect(error).toEqual({
      code: 'SANDBOX_FAILED',
      message: 'The image could not be built: ERROR: no such package',
      hint: 'What was said before that is above.',
      output: ['ERROR: no such package'],
    });
  });

  it('ends with our own reason and fix, where a step of ours gave them', async () => {
    const { error } = await read([
      { stream: 'Step 1/1 : RUN check\n' },
      { stream: 'Get:1 something\nglovebox: This base lacks python3.\n  Use another.\n' },
      { error: 'returned a non-zero code: 1', errorDetail: { code: 1 } },
    ]);
    expect(error).toMatchObject({
      message: 'The image could not be built: This base lacks python3.',
      hint: 'Use another.',
    });
  });

  it('ends with what the engine says, where no command failed', async () => {
    const { error } = await read([
      { stream: 'Step 1/1 : COPY node /usr/local/bin/node\n' },
      { stream: ' ---> abc\nwhatever\n' },
      { error: 'COPY failed: no space left on device', errorDetail: { message: 'COPY failed' } },
    ]);
    expect(error?.message).toBe('The image could not be built: COPY failed: no space left on device');
  });
});
