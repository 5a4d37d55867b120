/** The server as it is built, under more than anybody should send: it lives, it answers, and it stays small. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { useCommand } from '../e2e/support/command.ts';
import { describeWith } from '../e2e/support/needs.ts';

const CONNECTIONS = 10_000;

/** With the files of Node itself. */
const DESCRIPTORS = CONNECTIONS + 200;

const withDescriptors = (...command: readonly string[]): [string, string[]] => [
  'bash',
  ['-c', `ulimit -n ${DESCRIPTORS} && exec "$@"`, 'bash', ...command],
];

const problem =
  spawnSync(...withDescriptors('true')).status === 0
    ? undefined
    : `a process may not have ${DESCRIPTORS} open files here`;

const MB = 1024 ** 2;

/** What all of this may take; a server that has done nothing has less than a quarter. */
const MOST_BYTES = 700 * MB;

const command = useCommand();

async function startServing() {
  const env = {
    ...{ SANDBOX_TYPE: 'bubblewrap', SANDBOX_STORE_CODE: 'never' },
    ...(process.env['SANDBOX_PYTHON'] === undefined ? {} : { SANDBOX_PYTHON: process.env['SANDBOX_PYTHON'] }),
  };
  const created = await command.run(['keys', 'create', '--name', 'test', '--scope', 'execute', '--json']);
  const { secret } = JSON.parse(created.stdout);
  const running = await command.start(['serve', '--port', '0', '--json-logs'], { env, deadlineMs: 60_000 });
  await running.prints('\n');
  const url = running.stdout().trim();
  const port = Number(new URL(url).port);
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const post = (body: string): Promise<Response> =>
    // A connection of its own: one that is kept may be ended to make room for others.
    fetch(`${url}/v1/executions`, { method: 'POST', headers: { ...headers, connection: 'close' }, body });
  /** A request, and not a program each time, which takes more than all that a flood does. */
  const answers = async (): Promise<void> => {
    const listed = await fetch(`${url}/v1/sandboxes`, { headers: { ...headers, connection: 'close' } });
    expect([listed.status, await listed.json()]).toEqual([200, { sandboxes: [] }]);
  };
  const works = async (): Promise<void> => {
    const answer = await post(JSON.stringify({ code: 'print(6 * 7)' }));
    expect([answer.status, ((await answer.json()) as { stdout: string }).stdout]).toEqual([200, '42\n']);
  };
  /** The most that it ever had. */
  const peakBytes = (): number =>
    Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${running.pid}/status`, 'utf8'))?.[1]) * 1024;
  const end = async (): Promise<void> => {
    process.kill(running.pid, 'SIGTERM');
    expect((await running.finished).status).toBe(0);
  };
  return { port, headers, answers, works, peakBytes, end };
}

/** Asks over and over until the other thing is there, one after the other. */
async function whileAsking<Result>(ask: () => Promise<void>, other: Promise<Result>): Promise<Result> {
  let isOver = false;
  const over = other.finally(() => {
    isOver = true;
  });
  over.catch(() => {});
  do await ask();
  while (!isOver);
  return over;
}

function flood(port: number): ChildProcess {
  const child = fileURLToPath(new URL('floodingChild.mjs', import.meta.url));
  const flooding = spawn(...withDescriptors(process.execPath, child, String(port), String(CONNECTIONS)), {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void flooding.kill('SIGKILL'));
  return flooding;
}

describeWith(['bubblewrap'], 'a server in a flood', () => {
  it.skipIf(problem !== undefined)(
    `answers while ${CONNECTIONS} connections say half of a request${problem === undefined ? '' : ` (skipped: ${problem})`}`,
    async () => {
      const server = await startServing();
      await server.works();
      const flooding = flood(server.port);
      const opened = once(flooding.stdout ?? flooding, 'data');
      const [[told]] = await Promise.all([whileAsking(server.answers, opened), server.works()]);
      expect(JSON.parse(String(told))).toEqual({ opened: CONNECTIONS, failures: {} });
      await server.works();
      flooding.stdin?.end();
      await once(flooding, 'close');
      await server.works();

      expect(server.peakBytes()).toBeLessThan(MOST_BYTES);
      await server.end();
    },
  );

  it('answers while others send bodies that are too large, and streams that are broken', async () => {
    const server = await startServing();
    const { port, headers } = server;
    /** As it says how much it is, or without saying so. */
    const large = (bytes: number, isSaid: boolean): Promise<number> =>
      new Promise((resolve, reject) => {
        const sending = request({
          ...{ port, path: '/v1/executions', method: 'POST', agent: false },
          headers: { ...headers, ...(isSaid ? { 'content-length': bytes } : {}) },
        });
        sending.on('response', (response) => {
          resolve(response.statusCode ?? 0);
          sending.destroy();
        });
        sending.on('error', reject);
        const piece = Buffer.alloc(MB, ' ');
        const send = (left: number): void => {
          if (left > 0 && !sending.destroyed) sending.write(piece, () => send(left - MB));
          else sending.end();
        };
        send(bytes);
      });
    const broken = (chunks: string): Promise<string> =>
      new Promise((resolve) => {
        const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
        const socket = connect(port, '127.0.0.1', () =>
          socket.end(
            `POST /v1/executions HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${head.join('')}Transfer-Encoding: chunked\r\n\r\n${chunks}`,
          ),
        );
        let text = '';
        socket.on('data', (chunk) => {
          text += chunk.toString('latin1');
        });
        socket.on('error', () => {});
        socket.on('close', () => resolve(text.slice(0, 12)));
      });
    const bodies = [50, 64, 50, 64, 50, 64].map((size, index) => large(size * MB, index % 2 === 0));
    const streams = [
      'ZZ\r\n{"code":\r\n0\r\n\r\n',
      '-1\r\n{}\r\n0\r\n\r\n',
      'FFFFFFFFFFFFFFFFF\r\n{',
      '5\r\n{"code": "print(1)"}\r\n0\r\n\r\n',
      '100\r\n{"code":',
      '2\r\n{}',
    ].map(broken);
    const all = Promise.all([Promise.all(bodies), Promise.all(streams)]);
    const [[statuses, heads]] = await Promise.all([whileAsking(server.answers, all), server.works()]);
    expect(statuses).toEqual(bodies.map(() => 413));
    for (const answer of heads) expect(answer).toMatch(/^(HTTP\/1\.1 4\d\d)?$/);
    await server.works();

    expect(server.peakBytes()).toBeLessThan(MOST_BYTES);
    await server.end();
  });
});
