/** What an execution writes, told as it comes, and again from where somebody was cut off. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWith } from '../e2e/support/needs.ts';
import {
  eventsOf,
  type Json,
  type SentEvent,
  startTestServer,
  type TestServer,
  untilState,
} from './support.ts';

describeWith(['bubblewrap'], 'a server that tells as it comes', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer({ env: { SANDBOX_GATE: 'trusted' } });
  });
  afterAll(() => server.close());

  /** Starts it; resolves to its id. */
  async function start(code: string, path = '/v1/executions', language = 'python'): Promise<string> {
    const json = path.includes('/contexts/') ? { code } : { code, language, timeout: 30 };
    const answer = await server.ask('POST', `${path}?wait=false`, { json });
    expect([answer.status, answer.headers.get('location')]).toEqual([
      202,
      `/v1/executions/${answer.json.execution_id}`,
    ]);
    return answer.json.execution_id;
  }

  const listen = (id: string, lastEventId?: string): Promise<Response> =>
    server.fetch('GET', `/v1/executions/${id}/events`, {
      ...(lastEventId === undefined ? {} : { headers: { 'last-event-id': lastEventId } }),
    });

  async function all(response: Response): Promise<SentEvent[]> {
    const events: SentEvent[] = [];
    for await (const event of eventsOf(response)) events.push(event);
    return events;
  }

  const bytesOf = (events: readonly SentEvent[], stream: string): string =>
    Buffer.concat(
      events
        .filter(({ event, data }) => event === 'output' && data.stream === stream)
        .map(({ data }) => Buffer.from(data.data_base64, 'base64')),
    ).toString('latin1');

  /** Bytes that are no text, to both streams in turns, in pieces of many sizes. */
  const NOISE = `import os, sys, time
state = 7
for size in [1, 70_000, 3, 4096, 1, 200_000, 17, 65_536, 2, 30_000]:
    for file in (1, 2):
        data = bytes((state := (state * 1103515245 + 12345) % 2**31) >> 16 & 255 for _ in range(size))
        while data:
            data = data[os.write(file, data):]
    time.sleep(0.02)
`;
  const NOISE_BYTES = 369_656;

  describe('events of an execution', () => {
    it('are only what came of it, for whoever wants no output', async () => {
      const id = await start(`import time\n${NOISE}time.sleep(0.3)\nprint("end")`);
      const quiet = server.fetch('GET', `/v1/executions/${id}/events?output=false&other=1`);
      const [heard, told] = [await all(await quiet), await all(await listen(id))];
      const last = told.at(-1);
      expect(heard.map(({ event, data }) => ({ event, data }))).toEqual([
        { event: last?.event, data: last?.data },
      ]);
      expect([last?.event, bytesOf(told, 'stdout').length]).toEqual(['result', NOISE_BYTES + 4]);
      const behind = { headers: { 'last-event-id': heard[0]?.id ?? '' } };
      expect((await server.ask('GET', `/v1/executions/${id}/events?output=false`, behind)).status).toBe(204);
      expect((await server.ask('GET', `/v1/executions/${id}/events?output=none`)).status).toBe(400);
    });

    it('tell of a dry run as it goes on, and at the end what it would change', async () => {
      const { sandbox_id } = (await server.ask('POST', '/v1/sandboxes', { json: {} })).json;
      const trial = `/v1/sandboxes/${sandbox_id}/dry-runs`;
      const id = await start('open("new", "w").write("x"); print("tried")', trial);
      const told = await all(await listen(id));
      const outcome = told.at(-1)?.data;
      expect([bytesOf(told, 'stdout'), outcome]).toEqual([
        'tried\n',
        {
          ...{ dry_run_id: id, effects_sha256: outcome.effects_sha256 },
          // The program's own file is there, too.
          effects: expect.objectContaining({
            files: ['main.py', 'new'].map((path) => expect.objectContaining({ path, kind: 'added' })),
          }),
          result: expect.objectContaining({ stdout: 'tried\n', outcome: 'exited' }),
        },
      ]);
      expect((await server.ask('GET', `/v1/executions/${id}`)).json.result).toEqual(outcome);
      expect((await server.ask('POST', `${trial}/${id}/commit`)).json).toEqual({
        ...{ dry_run_id: id, effects_sha256: outcome.effects_sha256 },
      });
      const long = await start(
        'open("no", "w"); print("on", flush=True); import time; time.sleep(30)',
        trial,
      );
      for await (const { event } of eventsOf(await listen(long))) {
        if (event === 'output') await server.ask('DELETE', `/v1/executions/${long}`);
        else expect(event).toBe('result');
      }
      const { result } = (await server.ask('GET', `/v1/executions/${long}`)).json;
      expect([result.dry_run_id, result.result.outcome]).toEqual([long, 'cancelled']);
      const files = (await server.ask('GET', `/v1/sandboxes/${sandbox_id}/files`)).json.files;
      expect(files.map(({ name }: Json) => name)).toEqual(['main.py', 'new']);
      await server.ask('DELETE', `/v1/sandboxes/${sandbox_id}`);
    });

    it('are its output, in its order, and at the end the result that everybody gets', async () => {
      const id = await start(
        'import sys\nprint("a", flush=True)\nprint("b", file=sys.stderr, flush=True)\nprint("c")',
      );
      const events = await all(await listen(id));
      expect(bytesOf(events, 'stdout')).toBe('a\nc\n');
      expect(bytesOf(events, 'stderr')).toBe('b\n');
      const last = events.at(-1);
      const known = (await server.ask('GET', `/v1/executions/${id}`)).json;
      expect([last?.event, last?.data]).toEqual(['result', known.result]);
      expect(known.result.meta.execution_id).toBe(id);
      expect((await listen(id, last?.id)).status).toBe(204);
    });

    it('go on behind the one that was seen last, whichever that was, to the same bytes', async () => {
      const id = await start(NOISE);
      const whole = await all(await listen(id));
      const [stdout, stderr] = [bytesOf(whole, 'stdout'), bytesOf(whole, 'stderr')];
      expect([stdout.length, stderr.length]).toEqual([NOISE_BYTES, NOISE_BYTES]);
      expect(whole.at(-1)?.data.meta).toMatchObject({ stdout_bytes: NOISE_BYTES, stderr_bytes: NOISE_BYTES });
      expect(whole.length).toBeGreaterThan(20);
      for (let cut = 0; cut < whole.length - 1; cut++) {
        const rest = await all(await listen(id, whole[cut]?.id));
        const joined = [...whole.slice(0, cut + 1), ...rest];
        expect(bytesOf(joined, 'stdout') === stdout && bytesOf(joined, 'stderr') === stderr).toBe(true);
        expect(rest.at(-1)).toEqual(whole.at(-1));
      }
    });

    it('lose and repeat nothing for whoever is cut off again and again while it runs', async () => {
      const id = await start(NOISE);
      const seen: SentEvent[] = [];
      for (let count = 1; seen.at(-1)?.event !== 'result'; count++) {
        const gone = new AbortController();
        const last = seen.at(-1)?.id;
        const response = await server.fetch('GET', `/v1/executions/${id}/events`, {
          ...{ signal: gone.signal, headers: last === undefined ? {} : { 'last-event-id': last } },
        });
        let left = count;
        for await (const event of eventsOf(response)) {
          seen.push(event);
          if (--left === 0) break;
        }
        gone.abort();
      }
      const whole = await all(await listen(id));
      expect(bytesOf(seen, 'stdout') === bytesOf(whole, 'stdout')).toBe(true);
      expect(bytesOf(seen, 'stderr') === bytesOf(whole, 'stderr')).toBe(true);
      expect(seen.filter(({ event }) => event === 'result')).toHaveLength(1);
    });

    it('say what is kept no more, and a reader that does not read holds up nobody', async () => {
      const large = 6 * 1024 * 1024;
      const gone = new AbortController();
      const id = await start(`import sys\nsys.stdout.write("x" * ${large})`);
      const deaf = await server.fetch('GET', `/v1/executions/${id}/events`, { signal: gone.signal });
      await untilState(server, id, 'ended');
      gone.abort();
      await deaf.body?.cancel().catch(() => {});
      const events = await all(await listen(id));
      const [gap] = events;
      expect(gap).toMatchObject({ event: 'gap', data: { stream: 'stdout' } });
      expect(gap?.data.dropped_bytes).toBeGreaterThan(1024 * 1024);
      const next = events[1];
      expect(next?.data.offset).toBe(gap?.data.dropped_bytes);
      expect(bytesOf(events, 'stdout').length + gap?.data.dropped_bytes).toBe(large);
      const page = (await server.ask('GET', `/v1/executions/${id}/output?offset=0&limit=10`)).json;
      expect(page).toMatchObject({ text: 'xxxxxxxxxx', offset: gap?.data.dropped_bytes, total_bytes: large });
    });

    it('are rich results too, where a context gives them', async () => {
      const { sandbox_id } = (await server.ask('POST', '/v1/sandboxes', { json: {} })).json;
      const box = `/v1/sandboxes/${sandbox_id}`;
      const { context_id } = (await server.ask('POST', `${box}/contexts`, { json: {} })).json;
      const path = `${box}/contexts/${context_id}/executions`;
      const events = await all(
        await listen(await start('import sys; _ = sys.stdout.write("shown\\n")\n{"a": 1}', path)),
      );
      const [output, rich, result] = events as [SentEvent, SentEvent, SentEvent];
      expect([output.event, rich.event, result.event]).toEqual(['output', 'rich', 'result']);
      expect(result.data.results).toEqual([rich.data]);
      const failed: Json = (await server.ask('POST', path, { json: { code: '1/0' } })).json;
      expect([failed.outcome, failed.error.name]).toEqual(['exited', 'ZeroDivisionError']);
      await server.ask('DELETE', box);
    });

    it('end with an error where there is no result', async () => {
      const { sandbox_id } = (await server.ask('POST', '/v1/sandboxes', { json: {} })).json;
      const box = `/v1/sandboxes/${sandbox_id}`;
      const id = await start('print(1)', `${box}/executions`, 'cobol');
      const [error] = await all(await listen(id));
      expect(error).toMatchObject({ event: 'error', data: { error: { code: 'INPUT_INVALID' } } });
      expect((await server.ask('GET', `/v1/executions/${id}`)).json).toMatchObject({
        ...{ state: 'failed', error: error?.data.error },
      });
      await server.ask('DELETE', box);
    });

    it.each(['x', '1.2', '1.2.3.4', '-1.0.0'])('are not told behind %s, which names none', async (id) => {
      const execution = await start('print(1)');
      expect((await listen(execution, id)).status).toBe(400);
    });
  });
});
