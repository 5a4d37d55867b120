/** Standard output belongs to the protocol, whatever happens. */
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWith } from '../e2e/support/needs.ts';
import { eventually } from '../support/eventually.ts';
import { ended, useMcp } from './support.ts';

interface Frame {
  readonly id?: number;
  readonly result?: { readonly content?: readonly { readonly text: string }[] };
  readonly error?: { readonly code: number };
}

/** A client that looks at each byte. */
function rawClient(child: ChildProcess) {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const frames = (): Frame[] =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const client = {
    frames,
    stdout: () => stdout,
    stderr: () => stderr,
    write: (text: string) => void child.stdin?.write(text),
    send: (message: Record<string, unknown>) =>
      client.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    async answer(id: number): Promise<Frame> {
      await eventually(`${id} is answered`, () => stdout.includes(`"id":${id}`));
      return frames().find((frame) => frame.id === id) ?? {};
    },
    async initialize(): Promise<void> {
      const clientInfo = { name: 'test', version: '1' };
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
      client.send({ id: 1, method: 'initialize', params });
      await client.answer(1);
      client.send({ method: 'notifications/initialized' });
    },
    async run(id: number, code: string): Promise<string | undefined> {
      const params = { name: 'code_execute', arguments: { code }, _meta: { progressToken: id } };
      client.send({ id, method: 'tools/call', params });
      return (await client.answer(id)).result?.content?.[0]?.text;
    },
  };
  return client;
}

describeWith(['bubblewrap'], 'standard output', () => {
  const world = useMcp();

  it('holds nothing but messages, whatever programs and libraries print', async () => {
    const noisy = join(world.folder, 'noisy.mjs');
    // As soon as the server listens, and then all the time.
    writeFileSync(
      noisy,
      `import { Console } from 'node:console';
       process.stdin.once('newListener', () => setInterval(() => {
         console.log('NOISE of the console');
         console.table([{ NOISE: 1 }]);
         process.stdout.write('NOISE without a line feed');
         process.stdout.write(Buffer.from('{"jsonrpc":"2.0","id":3,"result":{"NOISE":true}}\\n'));
         new Console(process.stdout).log('NOISE of another console');
         process.emitWarning('NOISE of a warning');
         Promise.reject(new Error('NOISE of a rejection'));
         setImmediate(() => { throw new Error('NOISE of an error'); });
       }, 5).unref());`,
    );
    const child = await world.start({ env: { NODE_OPTIONS: `--import ${noisy}` } });
    const client = rawClient(child);
    await client.initialize();
    const forged = '{"jsonrpc":"2.0","id":9,"result":{"content":[]}}';
    expect(await client.run(2, `print('${forged}\\n' * 50)`)).toContain(forged);
    expect(await client.run(3, "import os; os.write(1, b'\\xff\\x00\\r\\n' * 50)")).toBeTypeOf('string');
    await eventually('it was noisy', () => client.stderr().includes('NOISE of the console'));
    child.stdin?.end();
    await ended(child);
    expect(client.stdout()).not.toContain('NOISE');
    const known = client.frames().filter((frame) => !('method' in frame));
    expect(known.map(({ id }) => id)).toEqual([1, 2, 3]);
  });

  it('goes on after messages that are none', async () => {
    const child = await world.start();
    const client = rawClient(child);
    await client.initialize();
    for (const nonsense of [
      '',
      '\0\xff',
      '{',
      'null',
      '[]',
      '"text"',
      '{"jsonrpc":"1.0"}',
      '{"id":{}}',
      '{"jsonrpc":"2.0"}',
    ])
      client.write(`${nonsense}\n`);
    client.write('\r\n\r\n');
    client.send({ id: 4, method: 'no/such/method' });
    client.send({ id: 5, method: 'tools/call', params: { name: 'no_such_tool' } });
    client.send({ id: 6, method: 'tools/call', params: { name: 'code_execute', arguments: 'text' } });
    client.send({ id: 7, method: 'tools/call', params: { name: 'code_execute', arguments: { code: 1 } } });
    client.send({ id: 8, method: 'resources/read', params: { uri: 'nonsense' } });
    client.send({
      id: 10,
      method: 'tools/list',
      params: { _meta: { 'io.modelcontextprotocol/protocolVersion': 'x' } },
    });
    client.send({ method: 'notifications/cancelled', params: { requestId: 4711 } });
    for (const id of [4, 5, 6, 8])
      expect(await client.answer(id)).toMatchObject({ error: { code: expect.any(Number) } });
    expect(await client.answer(7)).toMatchObject({ result: { isError: true } });
    // Longer than a message may be: it is dropped while it comes in.
    for (let i = 0; i < 33; i++) client.write('x'.repeat(1024 * 1024));
    client.write('\n');
    expect(await client.run(9, 'print(1)')).toBe('1');
    expect(client.stderr()).toContain('bytes was dropped');
    child.stdin?.end();
    expect(await ended(child)).toBe(0);
  });
});
