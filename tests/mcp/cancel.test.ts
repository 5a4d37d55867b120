/** What ends a program that a call has started. */
import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { describeWith } from '../e2e/support/needs.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/traces.ts';
import { call, ended, useMcp } from './support.ts';

/** Programs that can be found from outside, by what stands in their environment. */
function endless(): { mark: string; code: string } {
  const mark = `mcp-test-${Math.random().toString(36).slice(2)}`;
  const code = `import subprocess, time
print('\\x1b[31mbegun', flush=True)
subprocess.run(['/bin/sh', '-c', 'trap "" TERM INT; while :; do sleep 1; done'], env={'MARK': '${mark}'})`;
  return { mark, code };
}

const IN_TIME = { deadlineMs: 1000 };

describeWith(['bubblewrap'], 'a program that never ends', () => {
  const world = useMcp();

  /** Calls it, and resolves when its output has come through. */
  async function begin(client: Client, code: string, input: Record<string, unknown> = {}) {
    const controller = new AbortController();
    const notes: (string | undefined)[] = [];
    let called: Promise<unknown> = Promise.resolve();
    await new Promise<void>((resolve) => {
      const options = {
        ...{ signal: controller.signal, timeout: 60_000 },
        onprogress: ({ message }: { message?: string | undefined }) => {
          notes.push(message);
          resolve();
        },
      };
      const request = { name: 'code_execute', arguments: { code, timeout: 30, ...input } };
      called = client.callTool(request, options).catch((error: Error) => error.message);
    });
    return { notes, called, cancel: () => controller.abort('enough') };
  }

  describe.each([
    { way: 'stdio', mode: 'legacy' },
    { way: 'stdio', mode: 'auto' },
    { way: 'HTTP', mode: 'legacy' },
    { way: 'HTTP', mode: 'auto' },
  ] as const)('over $way ($mode)', ({ way, mode }) => {
    const connect = async () =>
      way === 'stdio'
        ? (await world.overStdio({}, { mode })).client
        : world.connect(await world.listen(), { mode });

    it.each([undefined, 'new'])(
      'is told about while it runs, and ends when it is cancelled (%s)',
      async (kept) => {
        const { mark, code } = endless();
        const client = await connect();
        const { notes, cancel, called } = await begin(
          client,
          code,
          kept === undefined ? {} : { sandbox_id: kept },
        );
        expect(notes).toEqual(['\\u{1b}[31mbegun\n']);
        await eventually('it runs', () => processesWith(mark).length > 0);
        cancel();
        await eventually('it has been ended', () => processesWith(mark).length === 0, IN_TIME);
        await called;
        expect(await call(client, 'code_execute', { code: 'print(1)' })).toMatchObject({ text: '1' });
      },
    );
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('ends with the server, by %s', async (signal) => {
    const { mark, code } = endless();
    const server = await world.listen();
    const client = await world.connect(server);
    const { structured } = await call(client, 'code_write_file', { path: 'a', content: '' });
    await begin(client, code, { sandbox_id: structured['sandbox_id'] });
    await eventually('it runs', () => processesWith(mark).length > 0);
    expect(await ended(server.process, signal)).toBe(0);
    expect(processesWith(mark)).toEqual([]);
  });

  it('ends when the client closes its end, with its sandboxes', async () => {
    const { mark, code } = endless();
    const child = await world.start();
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const send = (message: unknown) =>
      child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...(message as object) })}\n`);
    const clientInfo = { name: 'test', version: '1' };
    send({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
    });
    send({ method: 'notifications/initialized' });
    const params = { name: 'code_execute', arguments: { code, timeout: 30, sandbox_id: 'new' } };
    send({ id: 2, method: 'tools/call', params });
    await eventually('it runs', () => processesWith(mark).length > 0);
    child.stdin?.end();
    expect(await exited).toBe(0);
    expect(processesWith(mark)).toEqual([]);
  });

  it('ends with its session, and no other one does', async () => {
    const { mark, code } = endless();
    const { mark: otherMark, code: otherCode } = endless();
    const server = await world.listen();
    const [client, other] = [await world.connect(server), await world.connect(server)];
    await begin(client, code);
    await begin(other, otherCode);
    await eventually('both run', () => [mark, otherMark].every((text) => processesWith(text).length > 0));
    await (client.transport as unknown as { terminateSession(): Promise<void> }).terminateSession();
    await eventually('it has been ended', () => processesWith(mark).length === 0, IN_TIME);
    expect(processesWith(otherMark)).not.toEqual([]);
  });
});
