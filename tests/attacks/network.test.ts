import { randomUUID } from 'node:crypto';
import { once as event } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LiveSandbox } from '../../src/operations/liveSandbox.ts';
import { describeMissing } from '../support/targets.ts';
import { HELD, open, PLAIN, probe, program, sharesTheKernel, whileRunning } from './support.ts';

let plain: LiveSandbox;
let listener: Server;
let abstractListener: Server;
const ABSTRACT = `glovebox-attack-${randomUUID()}`;

beforeAll(async () => {
  plain = await open(PLAIN);
  listener = createServer((socket) => socket.on('error', () => {}).end('host')).listen(0, '127.0.0.1');
  await event(listener, 'listening');
  abstractListener = createServer((socket) => socket.on('error', () => {}).end('host')).listen({
    path: `\0${ABSTRACT}`,
  });
  await event(abstractListener, 'listening');
});

afterAll(async () => {
  listener.close();
  abstractListener.close();
  await plain.close();
});

describe.each(HELD)('network: $name', (target) => {
  let sandbox: LiveSandbox;
  beforeAll(async () => {
    sandbox = await open(target);
  });
  afterAll(() => sandbox.close());

  it('11. has only its own loopback: no route, no host port, no socket of the host', async () => {
    const { port } = listener.address() as AddressInfo;
    const code = program('reaches-for-the-network.py');
    const env = { PORT: String(port), ABSTRACT };
    const unreachable = expect.stringMatching(
      sharesTheKernel(target) ? /^ENETUNREACH$/ : /^E(NET|HOST)UNREACH$/,
    );
    const { name, ...inside } = await probe<Record<string, unknown>>(sandbox, code, { env });
    expect(inside).toEqual({
      interfaces: ['lo'],
      routes: [],
      visible: false,
      sockets: [],
      'host port': 'ECONNREFUSED',
      'host port 6': expect.stringMatching(/^E/),
      outside: unreachable,
      udp: unreachable,
      abstract: 'ECONNREFUSED',
      'abstract padded': 'ECONNREFUSED',
    });
    expect(name).not.toBe('ok');
    const control = await probe(plain, code.replace(/ {2}'outside'.*\n/, ''), { env });
    expect(control).toMatchObject({ 'host port': 'ok', visible: true });
    // Some versions of Node pad an abstract name with NULs.
    expect([
      (control as Record<string, string>)['abstract'],
      (control as Record<string, string>)['abstract padded'],
    ]).toContain('ok');
  });

  it("11. nothing comes in: a port that it opens is not the host's", async () => {
    const code = (address: string) => `
server = socket.socket(); server.bind(('${address}', 0)); server.listen()
print(server.getsockname()[1])`;
    let refused = '';
    await whileRunning(sandbox, code('0.0.0.0'), async (seen) => {
      refused = await tryConnect(Number.parseInt(seen, 10));
    });
    expect(refused).toBe('ECONNREFUSED');
    // Control: the same listener, inside, answers whoever shares its network.
    const within = `${code('127.0.0.1')}
socket.create_connection(server.getsockname(), timeout=2).close(); print(json.dumps('ok'))`;
    expect(await probe(sandbox, within)).toBe('ok');
  });
});

describeMissing('network');

async function tryConnect(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve('ok');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'failed'));
  });
}
