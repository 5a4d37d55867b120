import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { relayWish } from '../../src/egress/relayChannel.ts';
import { findExecutable } from '../../src/runtimes/host/executables.ts';
import { NO_RELAY, RelayFolder } from '../support/relayProcess.ts';
import { SYSTEM_VIEW } from '../support/systemView.ts';

const BWRAP = findExecutable('bwrap');
const cannot = NO_RELAY ?? (BWRAP === undefined ? 'bwrap is not installed' : undefined);

/** Tries one port after another, and says what each said. */
const CLIENT = `
import socket, sys
for port in map(int, sys.argv[1:]):
    try:
        with socket.create_connection(('127.0.0.1', port), 5) as there:
            there.sendall(b'question')
            there.shutdown(socket.SHUT_WR)
            print(port, there.makefile('rb').read().decode())
    except OSError as error:
        print(port, type(error).__name__)
`;

/** Port 80 would need a right that programs have nowhere. */
const PORT = 3128;

describe.skipIf(cannot)(`a relay in a network of its own${cannot ? ` (skipped: ${cannot})` : ''}`, () => {
  let relays: RelayFolder;
  beforeAll(() => {
    relays = new RelayFolder();
  });
  afterAll(() => relays.close());

  it('is the only way out, and lets us in', async () => {
    const host = createServer((socket) => socket.end('the host')).listen(0, '127.0.0.1');
    await once(host, 'listening');
    const { port: hostPort } = host.address() as AddressInfo;
    // The program waits for a line, and serves one port itself.
    const inside = `
      "$0" ${PORT} <&3 >&4 3<&- 4>&- &
      exec 3<&- 4>&-
      read -r go
      /usr/bin/python3 -c "$1" ${PORT} ${hostPort}
      exec /usr/bin/python3 -c "$2"`;
    const serve = `
import socket
with socket.create_server(('127.0.0.1', 8080)) as server:
    print('serving', flush=True)
    there = server.accept()[0]
    there.sendall(there.recv(100).upper())`;
    const child = spawn(
      BWRAP ?? '',
      [
        ...['--unshare-all', '--die-with-parent', ...SYSTEM_VIEW, '--dev', '/dev'],
        ...['--ro-bind', relays.file, relays.file],
        ...['/bin/sh', '-c', inside, relays.file, CLIENT, serve],
      ],
      { stdio: ['pipe', 'pipe', 'inherit', 'pipe', 'pipe'] },
    );
    const relay = await relayWish({
      port: PORT,
      onConnection: (connection) => {
        connection.on('data', (data) => connection.end(`${data} answered`));
      },
    }).attach({ input: child.stdio[3] as Writable, output: child.stdio[4] as Readable });
    (child.stdin as Writable).write('go\n');
    const lines = linesOf(child.stdout as Readable);
    expect(await lines()).toBe(`${PORT} question answered`);
    expect(await lines()).toMatch(new RegExp(`^${hostPort} \\w+Error$`));
    expect(await lines()).toBe('serving');
    const connection = await relay.connect(8080);
    await expect(relay.connect(hostPort)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    connection.end('hello');
    expect(await text(connection)).toBe('HELLO');
    // The relay goes with its namespace.
    await Promise.all([once(child, 'exit'), relay.closed]);
    host.close();
  });
});

/** The next line, each time. */
function linesOf(output: Readable): () => Promise<string> {
  const chunks = output.setEncoding('utf8')[Symbol.asyncIterator]();
  let left = '';
  return async () => {
    while (!left.includes('\n')) {
      const { value, done } = await chunks.next();
      if (done) return left;
      left += value;
    }
    const line = left.slice(0, left.indexOf('\n'));
    left = left.slice(line.length + 1);
    return line;
  };
}
