import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { closePipe, type Pipe } from '../pipe.ts';
import { readStat } from '../procfs.ts';
import { seccompFilter } from '../seccomp/filter.ts';
import { starterProgram } from './program.ts';
import { SOURCE_SHA256 } from './programs.ts';
import type { Source, StartSpec } from './protocol.ts';
import { Starter } from './starter.ts';

it('is built from the source that is here', () => {
  const sources = ['../../systemCall.h', '../../freestanding.h', 'launcher.h', 'starter.c'].map((name) =>
    readFileSync(new URL(name, import.meta.url)),
  );
  expect(createHash('sha256').update(Buffer.concat(sources)).digest('hex')).toBe(SOURCE_SHA256);
});

it('exists exactly where there is a seccomp filter', () => {
  for (const architecture of ['x64', 'arm64', 'ia32', 'riscv64'] as const) {
    expect(starterProgram(architecture) === undefined).toBe(seccompFilter(architecture) === undefined);
  }
});

const isMissing = process.platform !== 'linux' || starterProgram(process.arch) === undefined;

describe.skipIf(isMissing)('the starter', () => {
  let starter: Starter;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'starter-test-'));
    starter = (await Starter.open()) as Starter;
    expect(starter).toBeInstanceOf(Starter);
  });
  afterAll(() => {
    starter.retire();
    rmSync(folder, { recursive: true });
  });

  /** Starts a program, and answers what it wrote to its standard output and how it ended. */
  async function run(spec: Partial<StartSpec> & Pick<StartSpec, 'argv'>, by = starter) {
    const [pipe] = await by.makePipes(1);
    if (pipe === undefined) throw new Error('no pipe');
    const output: Source = { descriptor: pipe.write, flags: constants.O_WRONLY };
    const child = by.start(
      { cwd: '/', environment: {}, sources: ['ignore', output, 'ignore'], ...spec },
      undefined,
    );
    if (child === undefined) throw new Error('not taken');
    const exit = once(child, 'exit');
    exit.catch(() => {});
    const said = text(new Socket({ fd: pipe.read, readable: true, writable: false }));
    // It has been opened again when the program has started, or never will be.
    await once(child, 'spawn').catch(() => {});
    closeSync(pipe.write);
    return { child, said, exit };
  }

  const sh = (script: string, ...args: string[]): string[] => ['/bin/sh', '-c', script, 'sh', ...args];

  it('gives arguments, variables and folder exactly as they are, and nothing else', async () => {
    const words = ['two words', '', '$(id)', 'line\nbreak', 'ü'];
    const { said, exit } = await run({
      argv: [
        '/usr/bin/python3',
        '-c',
        'import os,sys; print(os.getcwd(), dict(os.environb), sys.argv[1:])',
        ...words,
      ],
      environment: { EMPTY: '', A: 'b=c', LC_ALL: 'C.UTF-8' },
      cwd: folder,
    });
    expect(await said).toBe(
      `${folder} {b'EMPTY': b'', b'A': b'b=c', b'LC_ALL': b'C.UTF-8'} ['two words', '', '$(id)', 'line\\nbreak', 'ü']\n`,
    );
    expect(await exit).toEqual([0, null]);
  });

  it('tells how it ended, and the signal that ended it', async () => {
    expect(await (await run({ argv: sh('exit 7') })).exit).toEqual([7, null]);
    const { child, exit } = await run({ argv: ['/bin/sleep', '100'] });
    expect(child.kill('SIGTERM')).toBe(true);
    expect(await exit).toEqual([null, 'SIGTERM']);
    expect(child.kill('SIGTERM')).toBe(false);
  });

  it('fails as Node does when there is no such program or folder', async () => {
    for (const spec of [{ argv: ['/no/such/program'] }, { argv: ['/bin/true'], cwd: '/no/such/folder' }]) {
      const { exit } = await run(spec);
      const node = spawn(spec.argv[0] ?? '', { cwd: spec.cwd ?? '/' });
      const [expected] = await once(node, 'error');
      await expect(exit).rejects.toMatchObject({ code: expected.code, path: expected.path });
    }
  });

  it('makes it the leader of a session, with no signal blocked or ignored', async () => {
    const { said, child } = await run({ argv: ['/bin/cat', '/proc/self/stat', '/proc/self/status'] });
    const answer = await said;
    expect(Number(answer.split(') ')[1]?.split(' ')[3])).toBe(child.pid);
    expect(answer).toMatch(/^SigBlk:\t0+$/m);
    expect(answer).toMatch(/^SigIgn:\t0+$/m);
  });

  it('hands over the given descriptors and no other, whatever we and it have open', async () => {
    const kept = openSync('/etc', constants.O_RDONLY | constants.O_DIRECTORY);
    onTestFinished(() => closeSync(kept));
    const namespace = openSync('/proc/self/ns/mnt', 'r');
    onTestFinished(() => closeSync(namespace));
    const [pipe] = (await starter.makePipes(1)) as [Pipe];
    const { exit } = await run({
      argv: sh('ls -l /proc/$$/fd'),
      environment: { PATH: '/usr/bin:/bin' },
      sources: [
        ...(['ignore', { descriptor: pipe.write, flags: constants.O_WRONLY }, 'ignore'] as const),
        ...[namespace, kept].map((descriptor) => ({ descriptor, flags: constants.O_RDONLY })),
      ],
    });
    await exit;
    closeSync(pipe.write);
    const listed = await text(new Socket({ fd: pipe.read, readable: true, writable: false }));
    const seen = [...listed.matchAll(/ (\d+) -> (.*)$/gm)].map(([, number, target]) => [
      Number(number),
      target,
    ]);
    expect(seen).toEqual([
      [0, '/dev/null'],
      [1, expect.stringMatching(/^pipe:/)],
      [2, '/dev/null'],
      [3, readlinkSync('/proc/self/ns/mnt')],
      [4, '/etc'],
    ]);
  });

  it('does not let its programs wait on a pipe as if it were one that does not', async () => {
    const { said } = await run({ argv: ['/bin/cat', '/proc/self/fdinfo/1'] });
    expect(Number.parseInt(/^flags:\s*(\d+)$/m.exec(await said)?.[1] ?? '', 8) & constants.O_NONBLOCK).toBe(
      0,
    );
  });

  it('lets a pipe hold more', async () => {
    const [pipe] = (await starter.makePipes(1)) as [Pipe];
    const F_GETPIPE_SZ = 1032;
    const size = (): string =>
      execFileSync('/usr/bin/python3', ['-c', `import fcntl; print(fcntl.fcntl(0, ${F_GETPIPE_SZ}))`], {
        stdio: [pipe.read, 'pipe', 'inherit'],
        encoding: 'utf8',
      }).trim();
    expect(size()).toBe('65536');
    starter.enlarge(pipe.read, 262_144);
    // Answered after that.
    (await starter.makePipes(1)).forEach(closePipe);
    expect(size()).toBe('262144');
    closePipe(pipe);
  });

  it('keeps nothing open of what it started, and no child that has ended', async () => {
    const open = (): string[] => readdirSync(`/proc/${starter.pid}/fd`);
    const before = open();
    await Promise.all(Array.from({ length: 20 }, async () => (await run({ argv: ['/bin/true'] })).exit));
    await eventually('its last pipes are closed', () => open().length === before.length);
    expect(readFileSync(`/proc/${starter.pid}/task/${starter.pid}/children`, 'utf8')).toBe('');
  });

  it('closes the input of a program that has ended, though nobody has', async () => {
    const [pipe] = (await starter.makePipes(1)) as [Pipe];
    const child = starter.start(
      {
        argv: ['/bin/true'],
        ...{ cwd: '/', environment: {} },
        sources: [{ descriptor: pipe.read, flags: constants.O_RDONLY }],
      },
      pipe.write,
    );
    if (child === undefined) throw new Error('not taken');
    await once(child, 'exit');
    expect(child.stdin?.destroyed).toBe(true);
    closeSync(pipe.read);
  });

  it('tells of twenty that end at once', async () => {
    const exits = await Promise.all(
      Array.from({ length: 20 }, async (_, code) => (await run({ argv: sh(`exit ${code}`) })).exit),
    );
    expect(exits.map(([code]) => code)).toEqual(Array.from({ length: 20 }, (_, code) => code));
  });

  it('has its children with it when it is killed, and says that they are ended', async () => {
    const other = (await Starter.open()) as Starter;
    const { child, exit } = await run({ argv: ['/bin/sleep', '1000'] }, other);
    process.kill(other.pid ?? 0, 'SIGKILL');
    expect(await exit).toEqual([null, 'SIGKILL']);
    expect(readStat(child.pid ?? 0)?.state ?? 'Z').toBe('Z');
    expect(other.isOpen).toBe(false);
    expect(
      other.start({ argv: ['/bin/true'], cwd: '/', environment: {}, sources: [] }, undefined),
    ).toBeUndefined();
    await expect(other.makePipes(1)).rejects.toThrow('has ended');
  });

  it('cannot be used where no program can be executed, and leaves nothing there', async () => {
    const nowhere = join(folder, 'nowhere');
    const closed = join(folder, 'closed');
    mkdirSync(closed);
    expect(await Starter.open([nowhere, '/proc'])).toBeUndefined();
    const next = await Starter.open([nowhere, closed]);
    expect(next).toBeInstanceOf(Starter);
    next?.retire();
    expect(readdirSync(closed)).toEqual([]);
  });

  it('ends, and everything that it started ends, when the process that uses it is killed', async () => {
    const script = join(folder, 'holder.mts');
    const source = new URL('./starter.ts', import.meta.url).pathname;
    writeFileSync(
      script,
      `import { Starter } from ${JSON.stringify(source)};
       const starter = await Starter.open();
       const child = starter.start({ argv: ['/bin/sleep', '1000'], cwd: '/', environment: {}, sources: [] });
       child.once('spawn', () => console.log(starter.pid, child.pid));`,
    );
    const holder: ChildProcess = spawn(process.execPath, ['--import', 'tsx', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void holder.kill('SIGKILL'));
    const [line] = await once(holder.stdout as NodeJS.ReadableStream, 'data');
    const pids = String(line).trim().split(' ').map(Number);
    const isThere = (pid: number): boolean => !['Z', 'X', undefined].includes(readStat(pid)?.state);
    expect(pids.map(isThere)).toEqual([true, true]);
    holder.kill('SIGKILL');
    await eventually('both are gone', () => !pids.some(isThere));
  });
});
