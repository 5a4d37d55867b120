import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { serverOf } from './address.ts';
import { KnownEnd } from './place.ts';
import { remoteSandbox } from './sandbox.ts';
import { Transport } from './transport.ts';
import type { SandboxAnswer } from './wire.ts';

const limit = { value: null, by: 'none', default: true } as const;

const sandbox: SandboxAnswer = {
  ...{ id: 'a', runtime: 'bubblewrap', language: 'python', running: false, warnings: [] },
  ...{ createdAt: '', expiresAt: '', lastUsedAt: '' },
  enforced: {
    ...{ isolation: 'namespace', network: 'none', filesystem: 'private', processes: 'contained' },
    ...{ seccomp: true, uid: 1 },
    limits: { memoryMb: limit, diskMb: limit, processes: limit, cpu: limit, timeoutSec: limit },
  },
};

const closed = {
  code: 'SANDBOX_CLOSED',
  message: 'The sandbox a has ended. Nobody used it for 5 seconds.',
  hint: 'Make a new one.',
  details: { sandboxId: 'a', reason: 'idle', at: '2026-01-01T00:00:00.000Z' },
};

let server: Server;
let transport: Transport;
let asked: number;

beforeEach(async () => {
  asked = 0;
  server = createServer((_, response) => {
    asked++;
    response.writeHead(410, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: closed }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const options = { reconnectSec: 1, requestTimeoutSec: 5 };
  transport = new Transport(serverOf(`http://127.0.0.1:${port}`, 'key', false), options);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});

afterEach(async () => {
  vi.useRealTimers();
  transport.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const handle = () => remoteSandbox(transport, sandbox, new KnownEnd('a'), async () => {});
const end = { reason: 'idle', at: closed.details.at, message: 'Nobody used it for 5 seconds.' };

it('looks for the end of a sandbox while somebody waits for it, and no longer', async () => {
  const { whenEnded } = handle();
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(5000);
  expect(await whenEnded).toEqual(end);
  expect({ asked, timers: vi.getTimerCount() }).toEqual({ asked: 1, timers: 0 });
});

it('learns of the end from whatever is answered, and asks nothing more then', async () => {
  const sandboxHandle = handle();
  await expect(sandboxHandle.readFile('x')).rejects.toMatchObject({
    ...{ code: closed.code, message: closed.message, details: closed.details },
  });
  await expect(sandboxHandle.execute('1')).rejects.toMatchObject({ code: 'SANDBOX_CLOSED' });
  expect({ asked, ended: sandboxHandle.ended, timers: vi.getTimerCount() }).toEqual({
    asked: 1,
    ended: end,
    timers: 0,
  });
});
