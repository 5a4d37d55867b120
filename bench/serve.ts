/**
 * Many clients at once against the built `glovebox serve`: each answer is checked, and what the server holds before and
 * after is compared. Ends with 1 where an answer is wrong or something is left.
 *
 *   tsx bench/serve.ts [seconds] [clients]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Keyring } from '../src/keys/keyring.ts';
import { childrenOf, descriptorsOf, tracesOf } from '../tests/support/traces.ts';

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

/** With more room Node.js would leave garbage lie that nobody holds: with so much a leak shows, or ends the server. */
const HEAP_MB = 200;

/** What the server may hold more than before: results that it keeps, and what the engine of JavaScript has not freed. */
const MAY_GROW_MB = 250;

interface Tally {
  readonly milliseconds: number[];
  readonly wrong: string[];
  turnedAway: number;
}

async function main(seconds: number, clients: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'serve-bench-'));
  const state = join(folder, 'state');
  const keyring = new Keyring({ folder: join(state, 'glovebox/keys') });
  const secrets = await Promise.all(
    Array.from({ length: 4 }, async (_, index) => {
      return (await keyring.create({ name: `client ${index}`, scopes: ['execute'] })).secret;
    }),
  );
  const { child, url } = await startServer(folder, state);
  const pid = child.pid ?? 0;
  try {
    const warm = newTally();
    await Promise.all(secrets.map((secret) => once(url, secret, warm)));
    await settle();
    const before = look(pid);
    const tally = newTally();
    const until = performance.now() + seconds * 1000;
    await Promise.all(
      Array.from({ length: clients }, async (_, index) => {
        const secret = secrets[index % secrets.length] ?? '';
        while (performance.now() < until) await once(url, secret, tally);
      }),
    );
    await settle();
    const after = look(pid);
    return report(tally, { before, after, seconds, clients });
  } finally {
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('close', resolve));
    console.log('left behind:', JSON.stringify(tracesOf(pid)));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startServer(folder: string, state: string): Promise<{ child: ChildProcess; url: string }> {
  const python = process.env['SANDBOX_PYTHON'];
  // Sandboxes that are kept ready are given up before anything is counted.
  mkdirSync(join(folder, '.config/glovebox'), { recursive: true });
  writeFileSync(
    join(folder, '.config/glovebox/config.yaml'),
    'security:\n  sandbox:\n    warm:\n      idle_sec: 2\n',
  );
  const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0', '--runtime', 'bubblewrap'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...{ PATH: process.env['PATH'], HOME: folder, XDG_STATE_HOME: state, SANDBOX_STORE_CODE: 'never' },
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
      ...(python === undefined ? {} : { SANDBOX_PYTHON: python }),
    },
  });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  for await (const url of lines) return { child, url };
  throw new Error('The server has ended without saying where it is. Is it built? npm run build');
}

function newTally(): Tally {
  return { milliseconds: [], wrong: [], turnedAway: 0 };
}

/** One program whose answer nobody else gets. */
async function once(url: string, secret: string, tally: Tally): Promise<void> {
  const token = randomBytes(8).toString('hex');
  const number = Math.floor(Math.random() * 1e6);
  const begun = performance.now();
  const response = await fetch(`${url}/v1/executions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ code: `print(${number} * 2)\nprint(input())`, stdin: token }),
  });
  const answer = (await response.json()) as { stdout?: string };
  if (response.status === 429) {
    tally.turnedAway++;
    await delay(Number(response.headers.get('retry-after')) * 1000);
    return;
  }
  tally.milliseconds.push(performance.now() - begun);
  const wanted = `${number * 2}\n${token}\n`;
  if (response.status !== 200 || answer.stdout !== wanted) {
    tally.wrong.push(`${response.status} ${JSON.stringify(answer).slice(0, 300)}`);
  }
}

/** What ends by itself has ended: connections that nobody uses, processes that were told to. */
async function settle(): Promise<void> {
  await delay(11_000);
}

interface Held {
  readonly processes: number;
  readonly descriptors: number;
  readonly memoryMb: number;
  readonly traces: number;
}

function look(pid: number): Held {
  const kb = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  return {
    processes: childrenOf(pid).length,
    // Pipes that are made and nobody's yet are a stock, which is sometimes smaller and sometimes larger.
    descriptors: descriptorsOf(pid).filter((path) => !/^\/dev\/shm\/.*\(deleted\)$/.test(path)).length,
    memoryMb: Math.round(Number(kb) / 1024),
    traces: Object.values(tracesOf(pid)).flat().length,
  };
}

function report(
  { milliseconds, wrong, turnedAway }: Tally,
  { before, after, seconds, clients }: { before: Held; after: Held; seconds: number; clients: number },
): number {
  const sorted = [...milliseconds].sort((a, b) => a - b);
  const percentile = (share: number): number => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
  console.log(`${clients} clients, ${seconds} s: ${sorted.length} answers, ${turnedAway} turned away`);
  console.log(`p50 ${percentile(0.5)} ms, p95 ${percentile(0.95)} ms, p99 ${percentile(0.99)} ms`);
  console.log('before:', JSON.stringify(before));
  console.log('after: ', JSON.stringify(after));
  const faults = [
    ...(sorted.length === 0 ? ['nothing was answered'] : []),
    ...(wrong.length > 0 ? [`${wrong.length} wrong answers, such as: ${wrong[0]}`] : []),
    ...(['processes', 'descriptors', 'traces'] as const)
      .filter((name) => after[name] > before[name])
      .map((name) => `${name}: ${before[name]} before, ${after[name]} after`),
    ...(after.memoryMb > before.memoryMb + MAY_GROW_MB ? ['memory has grown'] : []),
  ];
  for (const fault of faults) console.log(`FAULT: ${fault}`);
  return faults.length === 0 ? 0 : 1;
}

const [seconds = '60', clients = '64'] = process.argv.slice(2);
process.exitCode = await main(Number(seconds), Number(clients));
