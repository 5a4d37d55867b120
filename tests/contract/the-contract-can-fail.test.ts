/** Every clause is failed by a runtime that is broken on purpose: otherwise it would prove nothing. */
import { spawn, spawnSync } from 'node:child_process';
import { lstatSync } from 'node:fs';
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable, Transform, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { CLAUSES, verifyContract } from '../../src/contract/index.ts';
import { SandboxError } from '../../src/errors.ts';
import { bubblewrap } from '../../src/runtimes/bubblewrap/index.ts';
import { local } from '../../src/runtimes/local/index.ts';
import type { ByteSource, Command, Guest, GuestProcess, Runtime } from '../../src/runtimes/runtime.ts';
import { type Changes, change, EVERYTHING, echo, withoutLimits } from './broken.ts';
import { turns } from './holdToContract.ts';
import { naive } from './naive.ts';

/** Long enough for a clause that is told by a wrong answer, short for one that is told by silence. */
const CLAUSE_TIMEOUT_SEC = 12;

const AT_A_TIME = 3;

interface Broken {
  readonly what: string;
  readonly make: () => Runtime;
  /** The clauses that must see it. */
  readonly fails: readonly string[];
  readonly clauseTimeoutSec?: number;
}

/** What broken runtimes keep from being cleared away. */
const leftovers: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  await Promise.all(leftovers.map((clear) => clear()));
});

/** A plain process, changed. */
function plain(changes: Changes): () => Runtime {
  return () => change(local({ isolation: 'none', cgroups: null }), changes);
}

/** A plain process that claims everything and holds nothing. */
function liar(changes: Changes = {}): () => Runtime {
  return plain({ capabilities: () => EVERYTHING, spec: withoutLimits, enforced: echo, ...changes });
}

/** The program is started by a few words of shell. */
function through(script: string): Changes {
  return {
    command: ({ argv, ...rest }) => ({
      ...rest,
      argv: ['/bin/sh', '-c', `${script}; exec "$@"`, 'sh', ...argv],
    }),
  };
}

const BROKEN: readonly Broken[] = [
  {
    what: 'was written in an afternoon',
    make: () => naive('exit'),
    fails: [
      ...['killed-by-sigkill', 'killed-by-sigterm', 'deadline-ignored', 'no-survivors', 'background-child'],
      ...['output-devices', 'environment-exact', 'environment-hidden', 'files-absolute', 'files-outside'],
      ...['files-missing', 'files-link-read', 'files-link-write', 'files-bounded', 'open-files'],
      ...['no-core-dumps', 'close-twice', 'closed', 'files-remove', 'files-remove-link', 'files-carry'],
      ...['files-carry-out-confined', 'files-carry-in-confined', 'files-carry-bounded'],
    ],
  },
  {
    what: 'waits for everybody who holds the output',
    make: () => naive('close'),
    fails: ['background-child', 'deadline-ignored'],
    clauseTimeoutSec: 8,
  },
  {
    what: 'claims everything, holds nothing and tells what it was asked for',
    make: liar(),
    fails: [
      ...['no-hidden-survivors', 'sandboxes-share-nothing', 'host-files-hidden', 'system-read-only'],
      ...[
        'host-processes-hidden',
        'no-privileges',
        'seccomp',
        'no-mounts',
        'no-namespaces',
        'namespaces',
        'memory',
      ],
      ...['memory-of-a-child', 'processes', 'disk', 'cpu', 'network-none', 'network-allowlist'],
      ...['enforced-user', 'enforced-network', 'enforced-memory', 'enforced-processes', 'enforced-disk'],
      'enforced-cpu',
    ],
  },
  {
    what: 'claims a machine of its own',
    make: liar({
      capabilities: () => ({ ...EVERYTHING, isolation: 'machine' }),
      enforced: (enforced, spec) => ({ ...echo(enforced, spec), isolation: 'machine' }),
    }),
    fails: ['kernel-of-its-own', 'machine-of-its-own'],
  },
  {
    what: 'claims a kernel of its own, hides its programs from the host and holds nothing',
    make: liar({
      capabilities: () => ({ ...EVERYTHING, isolation: 'kernel' }),
      enforced: (enforced, spec) => ({ ...echo(enforced, spec), isolation: 'kernel' }),
      command: hidden,
    }),
    fails: ['kernel-of-its-own', 'memory-of-a-child', 'cpu'],
  },
  {
    what: 'shows the program to itself as root',
    make: liar({
      command: ({ argv, ...rest }) => ({ ...rest, argv: ['/usr/bin/unshare', '--map-root-user', ...argv] }),
    }),
    fails: ['not-root'],
  },
  {
    what: 'tells its defaults whatever was asked for',
    make: liar({
      enforced: (enforced, spec) => {
        const { limits, ...rest } = echo(enforced, spec);
        return { ...rest, limits: { ...limits, memoryMb: { ...limits.memoryMb, value: 256 } } };
      },
    }),
    fails: ['limits-required', 'enforced-limits', 'enforced-memory'],
  },
  {
    what: 'tells a value for a limit that nobody holds',
    make: plain({
      enforced: ({ limits, ...rest }) => ({
        ...rest,
        limits: { ...limits, diskMb: { value: 16, by: 'none', default: true } },
      }),
    }),
    fails: ['enforced-limits'],
  },
  {
    what: 'tells another user',
    make: plain({ enforced: (enforced) => ({ ...enforced, uid: 4242 }) }),
    fails: ['enforced-user'],
  },
  {
    what: 'claims an open network and keeps it shut',
    make: () =>
      change(bubblewrap({ cgroups: null }), {
        spec: (spec) => ({ ...spec, policy: { ...spec.policy, network: 'none' } }),
        enforced: (enforced, { policy }) => ({ ...enforced, network: policy.network }),
      }),
    fails: ['network-open', 'enforced-network'],
  },
  {
    what: 'loses standard output',
    make: plain({ process: ({ stdout }) => ({ stdout: nothingOf(stdout) }) }),
    fails: [
      ...['runs-python', 'runs-javascript', 'runs-shell', 'runs-command', 'deadline', 'deadline-handler'],
      ...['streams-apart', 'flood'],
    ],
  },
  {
    what: 'loses standard error',
    make: plain({ process: ({ stderr }) => ({ stderr: nothingOf(stderr) }) }),
    fails: ['uncaught-error', 'streams-apart'],
  },
  {
    what: 'puts standard error into standard output',
    make: plain(through('exec 2>&1')),
    fails: ['uncaught-error', 'streams-apart'],
  },
  {
    what: 'is always successful',
    make: plain({ exit: () => ({ code: 0, outOfMemory: false }) }),
    fails: [
      ...['runs-command', 'exit-code', 'uncaught-error', 'killed-by-sigkill', 'killed-by-sigterm'],
      ...['parallel', 'close-twice', 'no-core-dumps'],
    ],
  },
  {
    what: 'calls every end by a signal a lack of memory',
    make: plain({ exit: (exit) => ({ ...exit, outOfMemory: exit.code > 128 }) }),
    fails: ['killed-by-sigkill', 'killed-by-sigterm'],
  },
  {
    what: 'keeps only the beginning of a file',
    make: plain({
      guest: (guest) => ({ writeFile: (path, data) => guest.writeFile(path, data.subarray(0, 65_536)) }),
    }),
    fails: ['source-verbatim'],
  },
  {
    what: 'swallows every signal',
    make: plain({ process: () => ({ kill: async () => {} }) }),
    fails: ['deadline', 'deadline-handler', 'deadline-ignored', 'cancelled'],
    clauseTimeoutSec: 6,
  },
  {
    what: 'ends at once where it should ask first',
    make: plain({ process: (program) => ({ kill: () => program.kill('SIGKILL') }) }),
    fails: ['deadline-handler'],
  },
  {
    what: 'only ever asks',
    make: plain({ process: (program) => ({ kill: () => program.kill('SIGTERM') }) }),
    fails: ['deadline-ignored', 'cancelled'],
    clauseTimeoutSec: 6,
  },
  {
    what: 'ends a program that prints much',
    make: plain({ process: (program) => ({ stdout: endedAfter(program, 1_000_000) }) }),
    fails: ['flood'],
  },
  {
    what: 'hands output over at the end',
    make: plain({ process: ({ stdout }) => ({ stdout: atTheEnd(stdout) }) }),
    fails: ['output-live'],
  },
  {
    what: 'mends the output',
    make: plain({ process: ({ stdout }) => ({ stdout: mended(stdout) }) }),
    fails: ['output-replaced'],
  },
  {
    what: 'ignores the input',
    make: plain({
      command: ({ argv, env }) => ({ argv, env }),
      process: () => ({ stdin: new Writable({ write: (_chunk, _encoding, done) => done() }) }),
    }),
    fails: ['stdin-bytes', 'stdin-stream', 'output-live'],
  },
  {
    what: 'leaves standard input open',
    make: plain({ command: (command) => ({ stdin: 'stream', ...command }) }),
    fails: ['stdin-empty'],
  },
  {
    what: 'passes arguments through a shell',
    make: plain({ command: ({ argv, ...rest }) => ({ ...rest, argv: ['/bin/sh', '-c', argv.join(' ')] }) }),
    fails: ['arguments-verbatim', 'runs-command'],
  },
  {
    what: "gives the program the host's environment",
    make: plain({ command: ({ env, ...rest }) => ({ ...rest, env: { ...definedEnvironment(), ...env } }) }),
    fails: ['environment-exact', 'environment-hidden'],
  },
  { what: 'leaves a descriptor open', make: plain(through('exec 9</dev/null')), fails: ['descriptors'] },
  { what: 'gives the program a terminal', make: plain({ command: onTerminal }), fails: ['no-terminal'] },
  { what: 'starts elsewhere', make: plain(through('cd /')), fails: ['working-folder'] },
  {
    what: 'writes files as text',
    make: plain({
      guest: (guest) => ({
        writeFile: (path, data) => guest.writeFile(path, Buffer.from(Buffer.from(data).toString('utf8'))),
      }),
    }),
    fails: ['files-round-trip'],
  },
  {
    what: 'bends paths that lead outside back in',
    make: plain({
      guest: (guest) => ({
        readFile: (path, maxBytes) => guest.readFile(join('/', path).slice(1) || '.', maxBytes),
      }),
    }),
    fails: ['files-outside'],
  },
  {
    what: 'knows no absolute paths',
    make: plain({
      guest: (guest) => ({ writeFile: (path, data) => guest.writeFile(path.replace(/^\//, ''), data) }),
    }),
    fails: ['files-absolute', 'files-outside'],
  },
  {
    what: 'answers nothing for a file that is not there',
    make: plain({
      guest: (guest) => ({
        readFile: (path, maxBytes) => guest.readFile(path, maxBytes).catch(() => new Uint8Array()),
      }),
    }),
    fails: ['files-missing', 'files-outside', 'files-link-read', 'files-special'],
  },
  {
    what: 'follows links',
    make: plain({
      guest: ({ workspace }) => ({
        readFile: (path) => readFile(join(workspace, path)),
        writeFile: (path, data) => writeFile(join(workspace, path), data),
      }),
    }),
    fails: ['files-link-read', 'files-link-write'],
  },
  {
    what: 'waits for whoever writes to a FIFO',
    make: plain({
      guest: (guest) => ({
        readFile: (path, maxBytes) =>
          lstatSync(join(guest.workspace, path)).isFIFO()
            ? new Promise(() => {})
            : guest.readFile(path, maxBytes),
      }),
    }),
    fails: ['files-special'],
    clauseTimeoutSec: 3,
  },
  {
    what: 'reads files of any size',
    make: plain({ guest: (guest) => ({ readFile: (path) => guest.readFile(path, 2 ** 30) }) }),
    fails: ['files-bounded'],
  },
  {
    what: 'removes folders that nobody meant to go',
    make: plain({
      guest: (guest) => ({ removeFile: (path) => guest.removeFile(path, { recursive: true }) }),
    }),
    fails: ['files-remove'],
  },
  {
    what: 'removes what a link leads to',
    make: plain({
      guest: (guest) => ({
        removeFile: async (path, options) =>
          guest.removeFile(await realpath(join(guest.workspace, path)), options),
      }),
    }),
    fails: ['files-remove-link'],
  },
  {
    what: 'carries out what links lead to',
    make: plain({
      guest: ({ workspace }) => ({
        pack: async (path) =>
          Object.assign(spawn('tar', ['-c', '-h', '-C', join(workspace, path), '.']).stdout, { leftOut: [] }),
      }),
    }),
    fails: ['files-carry', 'files-carry-out-confined'],
  },
  {
    what: 'forgets which files are programs',
    make: plain({
      guest: (guest) => ({
        unpack: async (path, archive, options) => {
          const unpacked = await guest.unpack(path, archive, options);
          spawnSync('chmod', ['-R', 'a-x+X', join(guest.workspace, path)]);
          return unpacked;
        },
      }),
    }),
    fails: ['files-carry'],
  },
  {
    what: 'makes the links of an archive whether they are wanted or not',
    make: plain({
      guest: (guest) => ({
        unpack: (path, archive, options) => guest.unpack(path, archive, { ...options, links: 'kept' }),
      }),
    }),
    fails: ['files-carry-in-confined'],
  },
  {
    what: 'carries in what leads through links',
    make: plain({
      guest: ({ workspace }) => ({
        unpack: async (path, archive) => {
          const tar = spawn('tar', ['-x', '-C', join(workspace, path)], {
            stdio: ['pipe', 'ignore', 'ignore'],
          });
          await pipeline(Readable.from(archive), tar.stdin).catch(() => {});
          return { files: 0, folders: 0, bytes: 0 };
        },
      }),
    }),
    fails: ['files-carry-in-confined', 'files-carry-bounded'],
  },
  {
    what: 'carries as much as there is',
    make: plain({
      guest: (guest) => ({ pack: (path) => guest.pack(path, { maxBytes: 2 ** 40, maxEntries: 2 ** 30 }) }),
    }),
    fails: ['files-carry-bounded'],
  },
  {
    what: 'ends every archive, whole or not',
    make: plain({
      guest: (guest) => ({
        unpack: (path, archive, options) => guest.unpack(path, ended(archive), options),
      }),
    }),
    fails: ['files-carry-bounded'],
  },
  { what: 'empties the workspace after each run', make: plain({ exit: emptied }), fails: ['files-last'] },
  {
    what: 'gives everybody the same sandbox',
    make: shared,
    fails: ['sandboxes-apart', 'parallel'],
  },
  {
    what: 'claims what it does not tell',
    make: plain({ capabilities: (capabilities) => ({ ...capabilities, seccomp: true }) }),
    fails: ['enforced-as-claimed', 'seccomp'],
  },
  {
    what: 'makes its usage up',
    make: plain({ exit: (exit) => ({ ...exit, usage: { cpuSec: 0, peakMemoryMb: 1 } }) }),
    fails: ['usage'],
  },
  { what: 'claims more each time that it is asked', make: fickle, fails: ['probe', 'network-none'] },
  {
    what: 'leaves a folder whenever it is asked',
    make: plain({
      probe: async (probe) => {
        await leaveFolder();
        return probe;
      },
    }),
    fails: ['probe'],
    clauseTimeoutSec: 15,
  },
  {
    what: 'never clears away',
    make: plain({
      guest: (guest) => {
        leftovers.push(() => guest.destroy());
        return { destroy: async () => {} };
      },
    }),
    fails: ['leaves-nothing', 'closed'],
    clauseTimeoutSec: 15,
  },
  {
    what: 'forgets what it has made for a caller who has gone',
    make: plain({
      create: async (make, signal) => {
        if (!signal?.aborted) return make();
        await leaveFolder();
        throw new SandboxError('SANDBOX_FAILED', 'The caller has gone.', { hint: 'Ask again.' });
      },
    }),
    fails: ['aborted-create'],
    clauseTimeoutSec: 15,
  },
  { what: 'cannot be closed twice', make: plain({ guest: closedOnce }), fails: ['close-twice'] },
  {
    what: 'is available and never makes a sandbox',
    make: plain({ create: () => new Promise<Guest>(() => {}) }),
    fails: ['runs-python', 'sandboxes-apart'],
    clauseTimeoutSec: 1,
  },
  {
    what: 'never ends',
    make: plain({ exit: () => new Promise(() => {}) }),
    fails: ['runs-python', 'close-twice'],
    clauseTimeoutSec: 2,
  },
  {
    what: 'never has done with closing',
    make: plain({
      guest: (guest) => {
        leftovers.push(() => guest.destroy());
        return { destroy: () => new Promise(() => {}) };
      },
    }),
    fails: ['runs-python'],
    clauseTimeoutSec: 2,
  },
];

describe('a runtime that', () => {
  const takeTurn = turns(AT_A_TIME);

  for (const { what, make, fails, clauseTimeoutSec = CLAUSE_TIMEOUT_SEC } of BROKEN) {
    it.concurrent(
      `${what} fails`,
      () =>
        takeTurn(async () => {
          const reports = await verifyContract(make(), { only: fails, clauseTimeoutSec });
          const unseen = reports.filter(({ verdict }) => verdict !== 'broken').map(({ id }) => id);
          expect(unseen).toEqual([]);
        }),
      300_000,
    );
  }
});

it('leaves no clause that nothing fails', () => {
  const failed = new Set(BROKEN.flatMap(({ fails }) => fails));
  expect(CLAUSES.map(({ id }) => id).filter((id) => !failed.has(id))).toEqual([]);
});

/** An archive that is made whole with zeros where it was torn. */
async function* ended(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const bytes = await buffer(archive);
  yield bytes;
  yield Buffer.alloc(512 * 20 - (bytes.length % 512));
}

/** A stream of its own over a source, whose chunks are only lent. */
function asReadable(source: ByteSource): Readable {
  return Readable.from(
    (async function* () {
      for await (const chunk of source) yield Buffer.from(chunk);
    })(),
  );
}

function nothingOf(stream: ByteSource): Readable {
  asReadable(stream).resume();
  return Readable.from([]);
}

function atTheEnd(stream: ByteSource): Readable {
  const whole = new PassThrough();
  void buffer(stream).then((all) => whole.end(all));
  return whole;
}

function mended(stream: ByteSource): Readable {
  return asReadable(stream).pipe(
    new Transform({ transform: (chunk, _encoding, done) => done(null, Buffer.from(String(chunk))) }),
  );
}

function endedAfter(program: GuestProcess, bytes: number): Readable {
  let seen = 0;
  return asReadable(program.stdout).pipe(
    new Transform({
      transform(chunk: Buffer, _encoding, done) {
        seen += chunk.length;
        if (seen > bytes) void program.kill('SIGKILL');
        done(null, chunk);
      },
    }),
  );
}

function definedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Starts the program in a session with a terminal, its streams as they were. */
function onTerminal({ argv, ...rest }: Command): Command {
  const script = `import os, pty, sys
streams = [os.dup(n) for n in range(3)]
child, terminal = pty.fork()
if child == 0:
    for number, stream in enumerate(streams): os.dup2(stream, number)
    os.closerange(3, 64)
    os.execv(sys.argv[1], sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))`;
  return { ...rest, argv: ['/usr/bin/python3', '-c', script, ...argv] };
}

/** Runs a Python program whose arguments are on no command line, so that nobody finds it by them. */
function hidden({ argv, env, ...rest }: Command): Command {
  const script = `import json, os, runpy, sys
sys.argv = json.loads(os.environ.pop('HIDDEN'))
runpy.run_path(sys.argv[0], run_name='__main__')`;
  const program = argv.slice(argv.findIndex((word) => word.endsWith('.py')));
  return {
    ...rest,
    argv: ['/usr/bin/python3', '-u', '-c', script],
    env: { ...env, HIDDEN: JSON.stringify(program) },
  };
}

async function emptied<T>(exit: T, { workspace }: Guest): Promise<T> {
  for (const name of await readdir(workspace)) await rm(join(workspace, name), { recursive: true });
  return exit;
}

function shared(): Runtime {
  let only: Promise<Guest> | undefined;
  return plain({
    create: (make) => {
      only ??= make();
      const same = only;
      leftovers.push(async () => (await same).destroy());
      return same;
    },
    guest: () => ({ destroy: async () => {} }),
  })();
}

function fickle(): Runtime {
  let asked = 0;
  return plain({
    probe: (probe) => {
      asked++;
      const network = asked > 1 ? (['none', 'open'] as const) : (['open'] as const);
      return {
        ...probe,
        version: `${probe.version}, asked ${asked} times`,
        capabilities: { ...probe.capabilities, network },
      };
    },
    enforced: (enforced, { policy }) => ({ ...enforced, network: policy.network }),
  })();
}

async function leaveFolder(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'left-behind-'));
  leftovers.push(() => rm(folder, { recursive: true, force: true }));
}

function closedOnce(guest: Guest): Partial<Guest> {
  let closed = false;
  return {
    async destroy() {
      if (closed) throw new Error('It is closed already.');
      closed = true;
      await guest.destroy();
    },
  };
}
