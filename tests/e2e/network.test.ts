import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { useCommand } from './support/command.ts';
import { describeWith } from './support/needs.ts';

const glovebox = useCommand();

let server: Server;
let port = 0;

beforeAll(async () => {
  server = createServer((socket) => socket.end('from the host')).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});
afterAll(() => server.close());

const CONNECT = `
import socket, sys
try:
    print(socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5).recv(100).decode())
except OSError as error:
    print("unreachable", type(error).__name__)
`;

describeWith(['bubblewrap'], 'the network', () => {
  it('is not there by default', async () => {
    const { status, stdout } = await glovebox.run(['run', '-c', CONNECT, '--', String(port)]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^unreachable /);
  });

  it('is not there with --network none', async () => {
    const { stdout } = await glovebox.run(['run', '--network', 'none', '-c', CONNECT, '--', String(port)]);
    expect(stdout).toMatch(/^unreachable /);
  });

  it("is the host's with --network open", async () => {
    const { status, stdout } = await glovebox.run([
      'run',
      '--network',
      'open',
      '-c',
      CONNECT,
      '--',
      String(port),
    ]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'from the host\n' });
  });

  it.each([
    ['none', []],
    ['open', ['--network', 'open']],
  ])('is told as %s in the result', async (network, flags) => {
    const { stdout } = await glovebox.run(['run', '--json', ...flags, '-c', 'pass']);
    expect(JSON.parse(stdout).meta.enforced.network).toBe(network);
  });

  it('reaches only the domains that are named, and says why not others', async () => {
    const code = `
import urllib.error, urllib.request
try: urllib.request.urlopen('http://elsewhere.test/')
except urllib.error.HTTPError as refusal: print(refusal.code, refusal.read().decode())`;
    const flags = ['--allow-domain', 'example.com', '--json'];
    const { status, stdout } = await glovebox.run(['run', ...flags, '-c', code]);
    const { stdout: printed, meta } = JSON.parse(stdout);
    expect(status).toBe(0);
    expect(printed).toMatch(
      /^403 Glovebox: "elsewhere\.test" is not among the allowed domains \(example\.com\)/,
    );
    expect(meta.enforced.network).toBe('allowlist');
    expect(meta.network.decisions).toMatchObject([{ host: 'elsewhere.test', allowed: false }]);
  });
});

describeWith(['linux'], 'a plain process', () => {
  it('refuses --network none, which it cannot hold, and runs nothing', async () => {
    const { status, stdout, stderr } = await glovebox.run(
      ['run', '--network', 'none', '-c', 'print("ran")'],
      {
        env: { SANDBOX_LOCAL_ISOLATION: 'none' },
      },
    );
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toContain('network');
  });
});
