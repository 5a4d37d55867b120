import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { RunningServer } from '../../src/http/server.ts';
import { connect, type RemoteSandboxManager, type SandboxHandle } from '../../src/index.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { type CuttingProxy, startCuttingProxy } from './cuttingProxy.ts';
import { thrownBy } from './scenarios.ts';
import { KEYS, makeSurroundings, startTestServer } from './support.ts';

const PRINTING = `
import sys
for i in range(8000):
    sys.stdout.write(f'line {i} é\\n'); sys.stdout.flush()
    if i % 10 == 0: sys.stderr.write(f'beside {i}\\n'); sys.stderr.flush()
`;
const STDOUT = Array.from({ length: 8000 }, (_, index) => `line ${index} é\n`).join('');
const STDERR = Array.from({ length: 800 }, (_, index) => `beside ${index * 10}\n`).join('');

const isEvents = (request: string): boolean => request.includes('/events');

describeWith(['bubblewrap'], 'a connection that is cut', () => {
  const surroundings = makeSurroundings();
  let server: RunningServer;
  let proxy: CuttingProxy;
  let client: RemoteSandboxManager;

  beforeAll(async () => {
    server = await startTestServer(surroundings);
  });
  afterAll(async () => {
    await server.close({ drainSec: 0 });
    surroundings[Symbol.dispose]();
  });
  beforeEach(async () => {
    proxy = await startCuttingProxy(server.port);
    client = connect(proxy.url, { apiKey: KEYS.one, reconnectSec: 2 });
  });
  afterEach(async () => {
    proxy.target = server.port;
    proxy.cutAfter = () => undefined;
    await client.close();
    await proxy.close();
  });

  async function printed(
    run: (onOutput: (chunk: { stream: 'stdout' | 'stderr'; text: string }) => void) => Promise<unknown>,
  ) {
    const told = { stdout: '', stderr: '' };
    await run(({ stream, text }) => {
      told[stream] += text;
    });
    return told;
  }

  it('at any point loses and repeats no output, in pages too', async () => {
    const sandbox: SandboxHandle = await client.get(await client.createSandbox());
    const { meta } = await sandbox.execute(PRINTING);
    const texts: string[] = [];
    for (let at = 1; at < 200_000; at += 16_127) {
      let isFirst = true;
      proxy.cutAfter = (request) => {
        if (!isEvents(request) || !isFirst) return undefined;
        isFirst = false;
        return at;
      };
      let text = '';
      for await (const page of sandbox.follow(meta.executionId)) text += page.text;
      texts.push(text);
    }
    expect(new Set(texts)).toEqual(new Set([STDOUT]));
    expect(proxy.cuts).toBeGreaterThan(5);
  });

  it('over and over, while a program prints, loses and repeats nothing', async () => {
    // The same each time: what was cut where can be read off the seed.
    let seed = 7;
    proxy.cutAfter = (request) => {
      seed = (seed * 16_807) % 2_147_483_647;
      // More than the longest event: what never fits never comes.
      return isEvents(request) ? 50_000 + (seed % 30_000) : undefined;
    };
    const told = await printed((onOutput) =>
      client.execute(`import time${PRINTING}    if i % 100 == 0: time.sleep(0.01)\n`, { onOutput }),
    );
    expect(told).toEqual({ stdout: STDOUT, stderr: STDERR });
    expect(proxy.cuts).toBeGreaterThan(0);
  });

  it('leaves the code to go on, and the result to be read', async () => {
    const executed = client.execute('import time; time.sleep(0.5); print("whole")');
    setTimeout(() => proxy.cutAll(), 250);
    expect(await executed).toMatchObject({ stdout: 'whole\n', outcome: 'exited' });
  });

  it('for good is told, with the execution that goes on', async () => {
    const sandbox = await client.get(await client.createSandbox());
    const failure = thrownBy(() =>
      sandbox.execute('print("on", flush=True)\nimport time; time.sleep(30)', {
        onOutput: () => {
          proxy.target = undefined;
          proxy.cutAll();
        },
      }),
    );
    expect(await failure).toEqual({ name: 'SandboxError', code: 'RUNTIME_UNAVAILABLE' });
  });

  it('by a new start of the server is an error that says so, and what to look at', async () => {
    const next = await startTestServer(surroundings);
    try {
      const error = await client
        .execute('print("on", flush=True)\nimport time; time.sleep(30)', {
          onOutput: () => {
            proxy.target = next.port;
            proxy.cutAll();
          },
        })
        .catch((one: unknown) => one);
      expect(error).toMatchObject({
        code: 'SANDBOX_FAILED',
        message: expect.stringMatching(/^The server knows nothing of the execution [\w-]+ any more/),
        hint: expect.stringContaining('before you run it again'),
      });
    } finally {
      await next.close({ drainSec: 0 });
    }
  });

  it('before the answer to a start is made up for, and nothing is done twice', async () => {
    const sandbox = await client.get(await client.createSandbox());
    const cutOnce = (): void => {
      let isFirst = true;
      proxy.cutAfter = (request) => {
        if (!request.startsWith('POST') || !isFirst) return undefined;
        isFirst = false;
        return 0;
      };
    };
    cutOnce();
    const ran = await sandbox.exec(['sh', '-c', 'echo once >> runs; cat runs']);
    cutOnce();
    const process = await sandbox.start(['sh', '-c', 'echo twice >> runs; cat runs']);
    const { stdout } = await process.wait();
    cutOnce();
    const tried = await sandbox.dryRun(['sh', '-c', 'echo three >> runs']);
    cutOnce();
    await tried.commit();
    cutOnce();
    const context = await sandbox.context('python');
    cutOnce();
    await context.execute('x = open("runs").read()');
    cutOnce();
    const other = await client.createSandbox();
    expect(proxy.cuts).toBe(7);
    const runs = await sandbox.exec(['cat', 'runs']);
    expect([ran.stdout, stdout, runs.stdout]).toEqual(['once\n', 'once\ntwice\n', 'once\ntwice\nthree\n']);
    expect((await client.list()).map(({ id }) => id).sort()).toEqual([sandbox.id, other].sort());
  });

  it('while something is made leaves it to be made once', async () => {
    const first = await client.createSandbox();
    let isFirst = true;
    proxy.cutAfter = (request) => {
      if (request.startsWith('POST') && isFirst) setTimeout(() => proxy.cutAll(), 5);
      isFirst &&= !request.startsWith('POST');
      return undefined;
    };
    const second = await client.createSandbox();
    expect(isFirst).toBe(false);
    expect((await client.list()).map(({ id }) => id).sort()).toEqual([first, second].sort());
  });
});

describeWith(['bubblewrap'], 'a server that keys share', () => {
  const surroundings = makeSurroundings();
  let server: RunningServer;

  beforeAll(async () => {
    server = await startTestServer(surroundings);
  });
  afterAll(async () => {
    await server.close({ drainSec: 0 });
    surroundings[Symbol.dispose]();
  });

  it('shows nobody the sandboxes and executions of another', async () => {
    await using one = connect(server.url, { apiKey: KEYS.one });
    await using other = connect(server.url, { apiKey: KEYS.other });
    const id = await one.createSandbox();
    const { meta } = await one.executeCode(id, 'print("secret")');
    const own = await other.get(await other.createSandbox());
    const seen = {
      list: (await other.list()).map((info) => info.id),
      get: await thrownBy(() => other.get(id)),
      read: await thrownBy(() => other.readFile(id, 'x')),
      run: await thrownBy(() => other.executeCode(id, '1')),
      destroyed: await thrownBy(() => other.destroySandbox(id)),
      output: await thrownBy(() => own.output(meta.executionId)),
    };
    const unknown = { name: 'SandboxError', code: 'SANDBOX_NOT_FOUND' };
    expect(seen).toEqual({
      list: [own.id],
      ...{ get: unknown, read: unknown, run: unknown, destroyed: unknown },
      output: { name: 'SandboxError', code: 'INPUT_INVALID' },
    });
    expect((await one.list()).map((info) => info.id)).toEqual([id]);
    expect((await (await one.get(id)).output(meta.executionId)).text).toBe('secret\n');
  });

  it('tells the holder of a handle that somebody else has ended the sandbox', async () => {
    await using one = connect(server.url, { apiKey: KEYS.one });
    await using same = connect(server.url, { apiKey: KEYS.one });
    const handle = await one.get(await one.createSandbox());
    await same.destroySandbox(handle.id);
    const { whenEnded } = handle;
    const before = handle.ended;
    expect(await thrownBy(() => handle.execute('1'))).toEqual({
      ...{ name: 'SandboxError', code: 'SANDBOX_CLOSED', reason: 'closed' },
    });
    expect([before, handle.ended, await whenEnded]).toEqual([
      undefined,
      ...Array.from({ length: 2 }, () => ({
        reason: 'closed',
        at: expect.any(String),
        message: 'It was closed.',
      })),
    ]);
  });

  it('holds nobody back for a slow listener, and says how much he missed', async () => {
    await using client = connect(server.url, { apiKey: KEYS.one });
    let told = 0;
    const result = await client.execute('import sys\nfor i in range(300): sys.stdout.write("x" * 100_000)', {
      onOutput: async ({ bytes }) => {
        told += bytes.length;
        // He goes on when the program has long ended.
        await expect.poll(() => server.parts.executions.active, { timeout: 20_000 }).toEqual([]);
      },
    });
    const [warning = ''] = result.meta.warnings ?? [];
    const missed = Number(/^(\d+) bytes of stdout were not told/.exec(warning)?.[1]);
    expect({ sum: told + missed, outcome: result.outcome }).toEqual({ sum: 30_000_000, outcome: 'exited' });
  });

  it('serves no key that it does not know, and no error tells one', async () => {
    const apiKey = 'gbx_a-key-of-nobody';
    await using nobody = connect(server.url, { apiKey });
    const error = await nobody.list().catch((one: unknown) => one);
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(inspect([error, nobody], { depth: 9, showHidden: true })).not.toContain(apiKey);
  });

  it('has nothing of a client that was closed', async () => {
    const client = connect(server.url, { apiKey: KEYS.one });
    const making = thrownBy(() => client.createSandbox());
    await client.createSandbox();
    const cancelled = new AbortController();
    const unwanted = client.createSandbox({ signal: cancelled.signal });
    cancelled.abort();
    const going = thrownBy(() => client.execute('import time; time.sleep(60)'));
    await expect(unwanted).rejects.toBe(cancelled.signal.reason);
    await client.close();
    await making;
    expect(await going).toMatchObject({ resolved: { outcome: 'cancelled' } });
    await using again = connect(server.url, { apiKey: KEYS.one });
    expect(await again.list()).toEqual([]);
    expect(server.parts.executions.active).toEqual([]);
  });
});
