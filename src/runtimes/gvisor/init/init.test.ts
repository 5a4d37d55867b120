import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { seccompFilter } from '../../host/seccomp/filter.ts';
import { initProgram, initSettings } from './init.ts';
import { SOURCE_SHA256 } from './programs.ts';

it('is built from the source that is here', () => {
  const source = readFileSync(new URL('init.c', import.meta.url));
  expect(createHash('sha256').update(source).digest('hex')).toBe(SOURCE_SHA256);
});

it('exists exactly where there is a seccomp filter for its programs', () => {
  for (const architecture of ['x64', 'arm64', 'ia32', 'riscv64'] as const) {
    expect(initProgram(architecture) === undefined).toBe(seccompFilter(architecture) === undefined);
  }
});

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
    [at('report'), at('settings'), ...program],
  ];

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'init-test-'));
    writeFileSync(at('init'), initProgram(process.arch) ?? '', { mode: 0o755 });
    const filter = seccompFilter(process.arch) ?? new Uint8Array();
    writeFileSync(at('settings'), initSettings({ uid: 4242, gid: 4343 }, filter));
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
    const [file, args] = command('/nonexistent');
    expect(spawnSync(file, args).status).toBe(125);
    expect(readFileSync(at('report')).readInt32LE(0)).toBe(-2);
  });

  it('reports nothing when it cannot do what it should', () => {
    const [file, [report = '', , ...rest]] = command('/bin/true');
    for (const settings of ['/nonexistent', '/dev/null']) {
      expect(spawnSync(file, [report, settings, ...rest]).status).toBe(125);
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
});
