/** Every operation gives the same result by the library, the command line, MCP, HTTP and the client. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { connect } from '../../src/index.ts';
import { useCommand } from '../e2e/support/command.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { startTestServer } from '../http/support.ts';
import { useMcp } from '../mcp/support.ts';
import { pythonIndex, serve, wheel } from '../support/packageIndexes.ts';
import { type Answer, clientWay, commandLine, http, library, mcp, type Way } from './ways.ts';

const folder = mkdtempSync(join(tmpdir(), 'surfaces-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Once in a sandbox of its own, or in one that is kept. */
type Operation = (way: Way, id: string) => Promise<Answer>;

const once =
  (code: string, more: { readonly language?: string; readonly timeout?: number } = {}): Operation =>
  (way) =>
    way.executeOnce({ code, ...more });
const kept =
  (code: string, language?: string): Operation =>
  (way, id) =>
    way.execute(id, { code, ...(language === undefined ? {} : { language }) });

const OPERATIONS: Readonly<Record<string, Operation>> = {
  'a program': once('print(6 * 7)'),
  'a program of JavaScript': once('console.log(6 * 7)', { language: 'javascript' }),
  'a program of the shell': once('echo $((6 * 7)); echo aside >&2', { language: 'shell' }),
  'a program that fails': once('raise ValueError("x")'),
  'a program with an exit code': once('import sys; sys.exit(3)'),
  'a program that is too slow': once('print("on", flush=True)\nwhile True: pass', { timeout: 1 }),
  'a program that ends itself': once('import os; os.kill(os.getpid(), 9)'),
  'a program that needs too much': once('hoard = b"x" * 2**30'),
  'a flood': once('print("x" * 1_000_000)'),
  'bytes that are no text': once('import os; os.write(1, b"a\\xff\\xfeb")'),
  'a program without output': once(''),
  'a program that is blocked': once('import socket'),
  'an unknown language': once('puts 1', { language: 'ruby' }),
  'a timeout that is none': once('print(1)', { timeout: -1 }),
  'a file': (way, id) => way.write(id, 'data/a.txt', 'text\nand more: ä\n'),
  'a program in a kept sandbox': kept("print(open('data/a.txt').read(), end='')"),
  'a file that a program writes': kept('echo written > by-program.txt', 'shell'),
  'that file': (way, id) => way.read(id, 'by-program.txt'),
  'a folder': (way, id) => way.list(id, 'data'),
  'a package': (way, id) => way.install(id, 'greeter==1.2.0', 'pypi'),
  'a program with the package': kept('import greeter; greeter.greet()'),
  'a package that is not there': (way, id) => way.install(id, 'nothing-of-this-name', 'pypi'),
  'a package that is none': (way, id) => way.install(id, '--upgrade', 'pypi'),
  'a file that is not there': (way, id) => way.read(id, 'nothing.txt'),
  'a file outside': (way, id) => way.read(id, '../../etc/passwd'),
  'a file that would be outside': (way, id) => way.write(id, '/etc/x', 'x'),
  'a folder that is not there': (way, id) => way.list(id, 'nothing'),
  'a sandbox that is not there': (way) => way.execute('0123456789ab', { code: 'print(1)' }),
  'the end': (way, id) => way.destroy(id),
  'a sandbox that has ended': (way, id) => way.read(id, 'data/a.txt'),
};

/** What differs from one time to the next, or is told by some ways only. */
const OF_ONE_TIME = new Set([
  ...['duration', 'execution_id', 'sandbox_id', 'expires_at', 'usage', 'modified_at', 'log', 'versions'],
  ...['results', 'results_left_out', 'execution_count', 'destroyed', 'removed', 'at', 'duration_sec'],
  ...['bytes_up', 'bytes_down', 'uid'],
  // A sandbox that is kept ready is there from the second execution of its kind on.
  'warm',
  // Tools of an agent keep less of an execution in a kept sandbox.
  'max_output_kb',
]);

function comparable(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((element) => comparable(element));
  if (typeof value !== 'object' || value === null) return value;
  const isRead = 'content' in value && 'encoding' in value;
  const members = Object.entries(value).filter(([key]) => {
    if (isRead) return ['content', 'encoding', 'size'].includes(key);
    return !OF_ONE_TIME.has(key) && !(name === '' && key === 'truncated' && 'files' in value);
  });
  return Object.fromEntries(members.map(([key, member]) => [key, comparable(member, key)]));
}

describeWith(['bubblewrap'], 'an operation', () => {
  const glovebox = useCommand();
  const world = useMcp();
  let ways: Readonly<Record<string, Way>> = {};
  const open: (() => unknown)[] = [];

  beforeEach(async ({ onTestFinished }) => {
    onTestFinished(async () => {
      for (const close of open.splice(0).reverse()) await close();
    });
    const index = await serve(
      pythonIndex(wheel('greeter', '1.2.0', { 'greeter.py': "def greet(): print('hello')" })),
    );
    const configFile = join(folder, 'config.yaml');
    const network = {
      host_map: { 'index.test': index.endpoint },
      allowed_registries: { pypi: ['http://index.test/simple'] },
    };
    const sandbox = {
      ...{ runtime: 'bubblewrap', python: '/usr/bin/python3', min_isolation: 'namespace' },
      ...{ audit: 'off', gate: 'off', store_code: 'never', memory_mb: 128 },
      ...{ block_dangerous_imports: true, blocked_imports: ['python:socket'], network },
    };
    writeFileSync(configFile, JSON.stringify({ security: { sandbox } }));
    const env = { GLOVEBOX_CONFIG: configFile };
    const server = await startTestServer({ configFile });
    open.push(() => server.close());
    const client = connect(server.url, { apiKey: 'other' });
    open.push(() => client.close());
    const inProcess = library(configFile);
    open.push(() => inProcess.close());
    ways = {
      library: inProcess.way,
      'command line': commandLine(glovebox, env),
      MCP: await mcp(world, env),
      HTTP: http(server),
      client: clientWay(client),
    };
  });

  it('gives the same result by every way in', { timeout: 120_000 }, async () => {
    const answers = await Promise.all(
      Object.entries(ways).map(async ([name, way]) => {
        const id = await way.create();
        const given: Record<string, unknown> = {};
        for (const [operation, act] of Object.entries(OPERATIONS))
          given[operation] = comparable(await act(way, id));
        return [name, given] as const;
      }),
    );
    const [[, expected], ...others] = answers as [(typeof answers)[0], ...typeof answers];
    for (const [name, given] of others) expect({ name, ...given }).toEqual({ name, ...expected });
    expect(expected).toMatchObject({
      'a program': { ok: true, stdout: '42\n', meta: { enforced: { isolation: 'namespace' } } },
      'a program that fails': { ok: false, exit_code: 1, outcome: 'exited' },
      'a program that is too slow': { exit_code: -1, outcome: 'timed_out' },
      'a program that is blocked': { outcome: 'blocked' },
      'a program with the package': { stdout: 'hello\n' },
      'that file': { content: 'written\n', encoding: 'utf8', size: 8 },
      'a file that is not there': { error: 'FILE_NOT_FOUND' },
      'a file outside': { error: 'PATH_OUTSIDE_WORKSPACE' },
      'a sandbox that is not there': { error: 'SANDBOX_NOT_FOUND' },
      'a sandbox that has ended': { error: 'SANDBOX_NOT_FOUND' },
    });
  });
});
