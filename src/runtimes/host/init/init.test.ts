import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../../../tests/support/relayProcess.ts';
import { seccompFilter } from '../../host/seccomp/filter.ts';
import { relayProgram } from '../../relay/relay.ts';
import { FramedSource } from './framedSource.ts';
import { type InitRelay, initArguments, initProgram, initSettings } from './init.ts';
import { SOURCE_SHA256 } from './programs.ts';

it('is built from the source that is here', () => {
  const sources = ['../../systemCall.h', '../../freestanding.h', 'init.c'].map((name) =>
    readFileSync(new URL(name, import.meta.url)),
  );
  expect(createHash('sha256').update(Buffer.concat(sources)).digest('hex')).toBe(SOURCE_SHA256);
});

it('exists exactly where there is a seccomp filter for its programs', () => {
  for (const architecture of ['x64', 'arm64', 'ia32', 'riscv64'] as const) {
    expect(initProgram(architecture) === undefined).toBe(seccompFilter(architecture) === undefined);
  }
});

const USERS = { program: { uid: 4242, gid: 4343 }, relay: { uid: 5252, gid: 5353 } };

/** It is an ordinary program of this machine, to which only root can give what it needs. */
const cannot =
  process.platform !== 'linux' || initProgram(process.arch) === undefined
    ? `there is none for ${process.platform} on ${process.arch}`
    : process.getuid?.() !== 0
      ? 'only root can give it another user'
      : undefined;

describe.skipIf(cannot)(`the first process${cannot ? ` (skipped: ${cannot})` : ''}`, () => {
  let folder: string;
  const at = (name: string): string => join(folder, name);
  const command = (...program: string[]): [string, string[]] => [
    at('init'),
    [...initArguments({ report: at('report'), settings: at('settings') }), ...program],
  ];

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'init-test-'));
    writeFileSync(at('init'), initProgram(process.arch) ?? '', { mode: 0o755 });
    const filter = seccompFilter(process.arch) ?? new Uint8Array();
    writeFileSync(at('settings'), initSettings(USERS, filter));
  });
  beforeEach(() => writeFileSync(at('report'), ''));
  afterAll(() => rmSync(folder, { recursive: true }));

  function run(script: string) {
    const [file, args] = command('/bin/sh', '-c', script);
    const { status, stdout, stderr } = spawnSync(file, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
    return { status, stdout, stderr, report: readFileSync(at('report')).toString('hex') };
  }

  it.each([
    ['exit 0', 0, '00000000'],
    ['exit 255', 255, '00ff0000'],
    ['kill -9 $$', 137, '09000000'],
    ['kill -15 $$', 143, '0f000000'],
  ])('ends as the program does, and reports it: %s', (script, status, report) => {
    expect(run(script)).toMatchObject({ status, report });
  });

  it('reports why there was no program', () => {
    const [file, args] = command('/usr/bin/nonexistent');
    expect(spawnSync(file, args).status).toBe(125);
    expect(readFileSync(at('report')).readInt32LE(0)).toBe(-2);
  });

  it('reports nothing when it cannot do what it should', () => {
    for (const settings of ['/nonexistent', '/dev/null']) {
      const args = [...initArguments({ report: at('report'), settings }), '/bin/true'];
      expect(spawnSync(at('init'), args).status).toBe(125);
    }
    expect(readFileSync(at('report'))).toHaveLength(0);
  });

  it('gives the program another user, no capability, no blocked signal and a filter', () => {
    const { stdout } = run('cat /proc/self/status');
    expect(stdout).toMatch(/^Uid:\t4242\t4242\t4242\t4242\nGid:\t4343\t4343\t4343\t4343$/m);
    expect(stdout).toMatch(/^Groups:\t\s*$/m);
    for (const set of ['Inh', 'Prm', 'Eff', 'Amb']) {
      expect(stdout).toMatch(new RegExp(`^Cap${set}:\\t0+$`, 'm'));
    }
    expect(stdout).toMatch(/^NoNewPrivs:\t1$/m);
    expect(stdout).toMatch(/^Seccomp:\t2$/m);
    expect(stdout).toMatch(/^SigBlk:\t0+$/m);
  });

  it('cannot be ended by the program', () => {
    expect(run('kill -9 $PPID; exit 7')).toMatchObject({
      status: 7,
      stderr: expect.stringMatching(/permitted/),
    });
  });

  it('keeps no variable of the program', async () => {
    const [file, args] = command('/bin/sh', '-c', 'echo $WORD; read nothing');
    const child = spawn(file, args, { env: { WORD: 'secret' }, stdio: ['pipe', 'pipe', 'ignore'] });
    const [printed] = await once(child.stdout, 'data');
    const kept = readFileSync(`/proc/${child.pid}/environ`, 'utf8');
    child.stdin.end();
    await once(child, 'exit');
    expect([String(printed), kept.replaceAll('\0', '')]).toEqual(['secret\n', '']);
  });

  it('copies all that was written, the streams apart', () => {
    const { stdout, stderr } = run('head -c 5000000 /dev/zero; echo error >&2; printf end');
    expect([stdout.length, stdout.slice(-3), stderr]).toEqual([5_000_003, 'end', 'error\n']);
  });

  it('lets the program open its output again', () => {
    expect(run('echo out >/dev/stdout; echo error >/dev/stderr')).toMatchObject({
      stdout: 'out\n',
      stderr: 'error\n',
    });
  });

  it('waits for nobody who still holds the output', () => {
    const startedAt = performance.now();
    const { stdout } = run('sleep 3 & echo early');
    expect(stdout).toBe('early\n');
    expect(performance.now() - startedAt).toBeLessThan(2500);
  });

  it('hands a signal on to the program', async () => {
    const [file, args] = command(
      '/bin/sh',
      '-c',
      'trap "echo asked; exit 3" TERM; echo ready; sleep 20 & wait',
    );
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    let printed = '';
    child.stdout.on('data', (chunk) => {
      printed += String(chunk);
      if (printed === 'ready\n') child.kill('SIGTERM');
    });
    const [code] = await once(child, 'close');
    expect([code, printed]).toEqual([3, 'ready\nasked\n']);
  });

  it('tells a program whose output nobody takes', async () => {
    const [file, args] = command('/usr/bin/yes');
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.once('data', () => child.stdout.destroy());
    const [code] = await once(child, 'exit');
    expect(code).toBe(141);
  });

  describe("that is its program's user already", () => {
    /** What came out of each stream, and what was said to be its end. */
    async function runInFrames(script: string, secret: Buffer) {
      const args = ['--reuid=4242', '--regid=4343', '--clear-groups', at('init-of-all')];
      const words = initArguments({ frames: true });
      writeFileSync(at('init-of-all'), initProgram(process.arch) ?? '', { mode: 0o755 });
      chmodSync(folder, 0o711);
      const child = spawn('setpriv', [...args, ...words, '/bin/sh', '-c', script], { stdio: 'pipe' });
      child.stdin.end(Buffer.concat([secret, Buffer.from('input')]));
      const streams = [child.stdout, child.stderr].map((stream) => new FramedSource(stream, SECRET));
      const read = streams.map(async (stream) => [await text(stream), await stream.ended] as const);
      const [[code], ...said] = await Promise.all([once(child, 'exit'), ...read]);
      return { code, said };
    }
    const SECRET = Buffer.from('sixteen letters!');

    it('says in frames what its program wrote, and then how it ended', async () => {
      const { code, said } = await runInFrames('cat; id -u >&2; kill -9 $$', SECRET);
      const end = { status: 9 };
      expect([code, said]).toMatchObject([
        137,
        [
          ['input', end],
          ['4242\n', end],
        ],
      ]);
    });

    it('is believed only with the secret', async () => {
      const { code, said } = await runInFrames('echo written', Buffer.from('another secret!!'));
      expect([code, said]).toEqual([
        0,
        [
          ['written\n', undefined],
          ['', undefined],
        ],
      ]);
    });

    it('shows its program nothing of itself, as another process of the same user does', async () => {
      const look = 'ls /proc/$PPID/fd >/dev/null && echo shown; : </proc/$PPID/mem && echo open';
      const { said } = await runInFrames(`(${look}) 2>/dev/null; sh -c '(${look}) 2>/dev/null; :'`, SECRET);
      expect(said[0]?.[0]).toBe('shown\nopen\n');
    });
  });

  describe('as the first of its namespace', () => {
    const children: ChildProcess[] = [];
    afterEach(async () => {
      await Promise.all(
        children.splice(0).map(async (child) => {
          if (child.exitCode === null && child.signalCode === null) {
            child.kill('SIGKILL');
            await once(child, 'exit');
          }
        }),
      );
    });

    function start(relay: InitRelay | undefined, ...program: string[]) {
      const args = initArguments({ report: at('report'), settings: at('settings'), relay });
      const child = spawn(
        'unshare',
        ['--pid', '--fork', '--kill-child', '--mount-proc', at('init'), ...args, ...program],
        { stdio: ['ignore', 'pipe', 'pipe'] },
      );
      children.push(child);
      return child;
    }

    /** Its process id here: the one that unshare started. */
    function pidOf(child: ChildProcess): number {
      return Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'));
    }

    it('hands an interrupt to all that the program started', async () => {
      const ofChild =
        'import time\\ntry:\\n print("ready", flush=True); time.sleep(30)\\nexcept KeyboardInterrupt: print("child", flush=True)';
      const script = `
import subprocess, sys, time
children = [subprocess.Popen([sys.executable, '-c', '${ofChild}'], start_new_session=new) for new in (True, False)]
try:
    print('ready', flush=True)
    time.sleep(30)
except KeyboardInterrupt:
    for child in children: child.wait()
    print('parent', flush=True)
    sys.exit(3)`;
      const child = start(undefined, '/usr/bin/python3', '-c', script);
      let printed = '';
      let sent = false;
      child.stdout.on('data', (chunk) => {
        printed += String(chunk);
        if (sent || printed.split('ready').length < 4) return;
        sent = true;
        process.kill(pidOf(child), 'SIGINT');
      });
      const [code] = await once(child, 'close');
      // They may write at the same time.
      const words = printed
        .match(/ready|child|parent/g)
        ?.sort()
        .join(' ');
      expect([code, words]).toEqual([3, 'child child parent ready ready ready']);
    });

    async function withRelay(port: number, script: string) {
      const relay = { program: at('relay'), port, input: at('input'), output: at('output') };
      writeFileSync(relay.program, relayProgram(process.arch) ?? '', { mode: 0o555 });
      for (const pipe of [relay.input, relay.output]) {
        rmSync(pipe, { force: true });
        execFileSync('mkfifo', ['-m', '600', pipe]);
      }
      const flags = constants.O_RDWR | constants.O_NONBLOCK;
      const pipes = [openSync(relay.input, flags), openSync(relay.output, flags)] as const;
      const child = start(relay, '/bin/sh', '-c', script);
      const [stdout, stderr, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'exit'),
      ]);
      const heard = Buffer.alloc(64);
      let length = 0;
      try {
        length = readSync(pipes[1], heard);
      } catch (error) {
        // EAGAIN: nothing was said.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      }
      pipes.forEach(closeSync);
      return { code, stdout, stderr, heard: heard.subarray(0, length).toString('hex') };
    }

    const HELLO = '01000000000100000001';

    it('has a relay ready before the program, which cannot end it and need not', async () => {
      const port = await freePort();
      const said = await withRelay(
        port,
        `exec 2>&1
        relay=$(grep -l "^Uid:.5252" /proc/[0-9]*/status | cut -d/ -f3)
        grep -E "^(Uid|Gid|Groups|CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/$relay/status | tr '\t\n' ' ;'
        kill -9 $relay; ls /proc/$relay/fd
        tr '\\0' ' ' </proc/$relay/environ
        exit 5`,
      );
      expect(said).toMatchObject({ code: 5, heard: HELLO, stderr: '' });
      expect(said.stdout).toMatch(
        /^Uid: 5252 5252 5252 5252;Gid: 5353 5353 5353 5353;Groups: +;CapEff: 0+;CapBnd: \w+;NoNewPrivs: 1;Seccomp: 2;/,
      );
      expect(said.stdout).toMatch(/not permitted/);
      expect(said.stdout).toMatch(/cannot open directory/);
    });

    it('starts no program when the relay cannot listen', async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      expect(await withRelay(port, 'echo started')).toEqual({
        code: 125,
        stdout: '',
        stderr: 'relay: cannot listen on 127.0.0.1, error 98\n',
        heard: '',
      });
      expect(readFileSync(at('report'))).toHaveLength(0);
      server.close();
    });

    it('starts no program when there is no relay', async () => {
      const relay = { program: '/nonexistent', port: 0, input: '/dev/null', output: '/dev/null' };
      const child = start(relay, '/bin/echo', 'started');
      const [stdout, stderr, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'exit'),
      ]);
      expect([code, stdout, stderr]).toEqual([125, '', 'the relay could not be started\n']);
      expect(readFileSync(at('report'))).toHaveLength(0);
    });
  });
});
