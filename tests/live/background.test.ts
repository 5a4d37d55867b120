/** Processes that run beside the executions of their sandbox. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { describeMissing, TARGETS } from '../support/targets.ts';
import { EACH_KIND, expectNothingLeft, open } from './support.ts';

const SERVER = `
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'hello ' + self.path.encode())
server = http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler)
print('listening on', server.server_port, flush=True)
server.serve_forever()
`;

describe.each(EACH_KIND)('a background process: $name', (target) => {
  it('runs beside the executions, which neither wait for it nor end it', async () => {
    await using sandbox = await open(target);
    const ticking = await sandbox.start({
      code: "import time\nfor n in range(100000):\n    open('ticks', 'w').write(str(n))\n    print('tick', n, flush=True)\n    time.sleep(0.02)",
    });
    expect(ticking.status).toBe('running');
    await ticking.waitForLine('tick 1');
    // The code of an execution does not take the place of the process's own.
    expect((await sandbox.execute('print(1)')).stdout).toBe('1\n');
    expect((await sandbox.exec(['true'])).ok).toBe(true);
    const after = Number((await sandbox.readFile('ticks')).content);
    await ticking.waitForLine(`tick ${after + 10}`);
    expect(ticking.status).toBe('running');
    expect(sandbox.processes().map(({ id, status }) => ({ id, status }))).toEqual([
      { id: ticking.id, status: 'running' },
    ]);
    expect(sandbox.running).toBe(true);
    await ticking.kill();
    expect(ticking.status).toBe('killed');
    const result = await ticking.wait();
    expect(result).toMatchObject({
      outcome: 'killed',
      exitCode: 143,
      meta: { executionId: ticking.id, language: 'python' },
    });
    expect(result.meta.killedBy).toBeUndefined();
    expect(sandbox.running).toBe(false);
  });

  it('is written to line by line, and answers', async () => {
    await using sandbox = await open(target);
    const echo = await sandbox.start(
      ['sh', '-c', 'while read -r line; do echo "got $line"; done; echo end; exit 4'],
      {
        stdin: 'stream',
      },
    );
    await echo.write('one\n');
    expect(await echo.waitForLine(/^got (o.e)$/)).toEqual({ stream: 'stdout', text: 'got one' });
    await echo.write('two\nthree\n');
    await echo.closeStdin();
    const lines: string[] = [];
    for await (const { text: line } of echo.lines()) lines.push(line);
    expect(lines).toEqual(['got one', 'got two', 'got three', 'end']);
    expect(await echo.wait()).toMatchObject({ outcome: 'exited', exitCode: 4 });
    await expect(echo.write('more')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('is waited for in vain when it ends before, or takes too long', async () => {
    await using sandbox = await open(target);
    const ends = await sandbox.start(['sh', '-c', 'echo no; echo "it broke" >&2; exit 7']);
    await expect(ends.waitForLine('yes')).rejects.toMatchObject({
      code: 'WAIT_FAILED',
      details: { status: 'exited', stderr: 'it broke' },
    });
    const stays = await sandbox.start(['sh', '-c', 'printf "no line end"; exec sleep 100']);
    await expect(stays.waitForLine('no line', { timeout: 0.5 })).rejects.toMatchObject({
      code: 'WAIT_FAILED',
      details: { status: 'running' },
    });
    await eventually('it has printed', () => stays.output().bytes.length === 'no line end'.length);
    expect(await stays.kill('SIGKILL')).toBeUndefined();
    expect(await stays.wait()).toMatchObject({ outcome: 'killed', exitCode: 137 });
    // What was printed without a line end is a line all the same.
    expect(await stays.waitForLine('no line')).toMatchObject({ text: 'no line end' });
  });

  it('floods for as long as it likes: beginning and end are kept, counted truly, in little memory', async () => {
    await using sandbox = await open(target);
    const memory = () => process.memoryUsage().rss;
    await sandbox.exec(['true']);
    const before = memory();
    const flood = await sandbox.start(
      ['sh', '-c', "echo begin; yes 0123456789abcde | head -c 209715200; echo; echo 'the end'"],
      { maxOutputBytes: 100_000, timeout: 150 },
    );
    const waited = flood.waitForLine('the end', { timeout: 150 });
    const result = await flood.wait();
    expect(await waited).toMatchObject({ text: 'the end' });
    expect(result).toMatchObject({
      outcome: 'exited',
      truncated: true,
      meta: { stdoutBytes: 209_715_200 + 15 },
    });
    expect((memory() - before) / 1024 ** 2).toBeLessThan(150);
    const total = 209_715_200 + 15;
    const first = flood.output({ limit: 1_000_000 });
    expect(first).toMatchObject({
      offset: 0,
      nextOffset: 50_000,
      totalBytes: total,
      droppedBytes: total - 100_000,
    });
    expect(first.text.startsWith('begin\n0123456789abcde\n')).toBe(true);
    const last = flood.output({ offset: first.nextOffset, limit: 1_000_000 });
    expect(last).toMatchObject({ offset: total - 50_000, nextOffset: total, ended: true });
    expect(last.text.endsWith('\n\nthe end\n')).toBe(true);
  }, 180_000);

  it('is ended by its own time, by whoever cancels it, and with its sandbox', async () => {
    const sandbox = await open(target);
    const timed = await sandbox.start(['sleep', '100'], { timeout: 0.5 });
    expect(await timed.wait()).toMatchObject({ outcome: 'timed_out', exitCode: -1 });
    const cancel = new AbortController();
    const cancelled = await sandbox.start(['sleep', '100'], { signal: cancel.signal });
    cancel.abort();
    expect(await cancelled.wait()).toMatchObject({ outcome: 'cancelled', exitCode: 130 });
    const left = await sandbox.start(['sleep', '100']);
    expect(left.status).toBe('running');
    await sandbox.close();
    expect(await left.wait()).toMatchObject({ outcome: 'killed', meta: { warnings: expect.any(Array) } });
    expect(left.status).toBe('killed');
    await expectNothingLeft();
  });

  it('is refused where it is no command', async () => {
    await using sandbox = await open(target);
    for (const argv of [[], [''], ['a\0b'], 'ls', undefined, [1]]) {
      await expect(sandbox.start(argv as never)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
      await expect(sandbox.exec(argv as never)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    }
    const sleeping = await sandbox.start(['sleep', '100']);
    await expect(sleeping.waitForLine(undefined as never)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(sleeping.kill('SIGSTOP' as never)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(sandbox.start(['cat'], { stdin: 'text' as 'stream' })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
  });

  it('opens no port of this host unless the sandbox was made for it', async () => {
    await using sandbox = await open(target);
    await expect(sandbox.forward(8000)).rejects.toMatchObject({ code: 'POLICY_DENIED' });
  });
});

/** Where programs are on the host's own network, no relay is needed. */
const ON_THE_HOST = TARGETS.filter(({ capabilities }) => capabilities.isolation === 'process');

describe.each(ON_THE_HOST)('ports: $name', (target) => {
  it('are waited for, and forwarded', async () => {
    await using sandbox = await open(target, { network: 'open', forwardPorts: true });
    const server = await sandbox.start({ code: SERVER }, { args: ['0'] });
    const { text: said } = await server.waitForLine('listening on');
    const port = Number(said.split(' ').at(-1));
    await server.waitForPort(port);
    const forwarding = await sandbox.forward(port);
    const socket = connect({ host: forwarding.host, port: forwarding.port });
    await once(socket, 'connect');
    socket.write('GET /there HTTP/1.0\r\n\r\n');
    expect(await text(socket)).toMatch(/hello \/there$/);
    await server.kill();
    await expect(server.waitForPort(port)).rejects.toMatchObject({ code: 'WAIT_FAILED' });
    await forwarding.close();
  });
});

describeMissing('background processes');
