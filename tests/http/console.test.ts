/** What the console is told by a real server. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { consoleApp } from '../../src/console/app.ts';
import type { ConsoleBackend, ConsoleKey, OutputPiece } from '../../src/console/backend.ts';
import { consoleBackend } from '../../src/http/consoleBackend.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { eventually } from '../support/eventually.ts';
import { startTestServer, type TestServer, untilState } from './support.ts';

describeWith(['bubblewrap'], 'the console on a server', () => {
  let server: TestServer;
  let backend: ConsoleBackend;

  beforeAll(async () => {
    server = await startTestServer({ mount: (parts) => consoleApp(consoleBackend(parts)) });
    backend = consoleBackend(server.server.parts);
  });
  afterAll(() => server.close());

  async function key(secret: string): Promise<ConsoleKey> {
    const found = await backend.authenticate(secret);
    if (found === undefined) throw new Error('There is no such key.');
    return found;
  }

  it('has pages beside the routes, with the headers of pages, for whoever signs in', async () => {
    const first = await fetch(`${server.url}/`, { redirect: 'manual' });
    expect([first.status, first.headers.get('location')]).toEqual([303, '/sign-in']);
    const form = await fetch(`${server.url}/sign-in`);
    expect([form.status, form.headers.get('content-type')]).toEqual([200, 'text/html; charset=UTF-8']);
    expect(form.headers.get('content-security-policy')).toContain("form-action 'self'");
    const signedIn = await fetch(`${server.url}/sign-in`, {
      ...{ method: 'POST', redirect: 'manual', headers: { origin: server.url } },
      body: new URLSearchParams({ secret: 'operator', next: '/' }),
    });
    expect(signedIn.status).toBe(303);
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const home = await fetch(`${server.url}/`, { headers: { cookie } });
    expect(home.status).toBe(200);
  });

  it('shows questions of all keys with who asks, and lets nobody answer their own', async () => {
    const changes: string[] = [];
    const unwatch = backend.watch((change) => changes.push(change));
    const code = 'import shutil; shutil.rmtree("/srv/nothing-of-this-name")';
    const asked = server.ask('POST', '/v1/executions', { key: 'both', json: { code } });
    await eventually('the question waits', async () => (await backend.questions()).length === 1);
    const [waiting] = await backend.questions();
    const { id, hash } = waiting?.question ?? { id: '', hash: '' };
    expect(waiting?.askedBy).toEqual({ id: 'key-both', name: 'both' });
    await expect(backend.answer(id, hash, { approved: true }, await key('both'))).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    await eventually('the change is told', () => changes.includes('questions'));
    await backend.answer(id, hash, { approved: true }, await key('operator'));
    expect((await asked).json).toMatchObject({ outcome: 'exited', exit_code: 1 });
    expect(await backend.questions()).toEqual([]);
    unwatch();
    const told = changes.length;
    await server.ask('POST', '/v1/executions', { json: { code: '1' } });
    expect([changes.includes('executions'), changes.length]).toEqual([true, told]);
  });

  it('shows sandboxes and executions of all keys, with output from any point on', async () => {
    const { sandbox_id } = (await server.ask('POST', '/v1/sandboxes', { key: 'other', json: {} })).json;
    expect(await backend.sandboxes()).toMatchObject([
      { id: sandbox_id, keyName: 'other', language: 'python' },
    ]);
    const box = `/v1/sandboxes/${sandbox_id}`;
    const { context_id } = (await server.ask('POST', `${box}/contexts`, { key: 'other', json: {} })).json;
    const code = 'import sys\nprint("é" * 3)\nprint("beside", file=sys.stderr)\n[1, 2]';
    const ended = await server.ask('POST', `${box}/contexts/${context_id}/executions`, {
      ...{ key: 'other', json: { code } },
    });
    const { execution_id } = ended.json.meta;
    const known = await backend.execution(execution_id);
    expect(known).toMatchObject({
      ...{ id: execution_id, keyName: 'other', sandboxId: sandbox_id, language: 'python', state: 'ended' },
      ...{ result: { stdout: 'ééé\n', meta: { executionId: execution_id } } },
      richResults: [{ type: 'result', text: '[1, 2]' }],
    });
    const listed = (await backend.executions()).find(({ id }) => id === execution_id);
    // Megabytes of results are not read for a list.
    expect(listed).toMatchObject({ id: execution_id, state: 'ended' });
    expect(listed).not.toHaveProperty('richResults');
    expect(await backend.execution('nothing')).toBeUndefined();

    const pieces: OutputPiece[] = [];
    for await (const piece of backend.output(execution_id, { after: 0, follow: true })) pieces.push(piece);
    const text = (stream: string): string =>
      pieces.map((piece) => (piece.type === 'output' && piece.stream === stream ? piece.text : '')).join('');
    expect([text('stdout'), text('stderr')]).toEqual(['ééé\n', 'beside\n']);
    for (const [index, { next }] of pieces.entries()) {
      const rest = [];
      for await (const piece of backend.output(execution_id, { after: next, follow: false }))
        rest.push(piece);
      expect(rest).toEqual(pieces.slice(index + 1));
    }
    await server.ask('DELETE', box, { key: 'other' });
  });

  it('gives a character whole to who goes on in the middle of it', async () => {
    const { sandbox_id } = (await server.ask('POST', '/v1/sandboxes', { json: {} })).json;
    const box = `/v1/sandboxes/${sandbox_id}`;
    const code =
      'import os, time\nos.write(1, b"a\\xc3")\nwhile not os.path.exists("go"): time.sleep(0.05)\nos.write(1, b"\\xa9b")';
    const { execution_id } = (await server.ask('POST', `${box}/executions?wait=false`, { json: { code } }))
      .json;
    const textAfter = async (after: number, follow: boolean) => {
      let [text, next] = ['', after];
      for await (const piece of backend.output(execution_id, { after, follow })) {
        if (piece.type === 'output') text += piece.text;
        next = piece.next;
      }
      return { text, next };
    };
    await eventually('it writes', async () => (await textAfter(0, false)).text !== '');
    const begun = await textAfter(0, false);
    await server.ask('PUT', `${box}/files/content?path=go`, { bytes: new Uint8Array() });
    expect([begun.text, (await textAfter(begun.next, true)).text]).toEqual(['a', 'éb']);
    await server.ask('DELETE', box);
  });

  it('follows output until its reader leaves', async () => {
    const { execution_id } = (
      await server.ask('POST', '/v1/executions?wait=false', {
        json: { code: 'import time\nprint("on", flush=True)\ntime.sleep(30)' },
      })
    ).json;
    const left = new AbortController();
    const seen: string[] = [];
    for await (const piece of backend.output(execution_id, { after: 0, follow: true, signal: left.signal })) {
      seen.push(piece.type);
      setImmediate(() => left.abort());
    }
    expect(seen).toEqual(['output']);
    await server.ask('DELETE', `/v1/executions/${execution_id}`);
    await untilState(server, execution_id, 'ended');
  });
});
