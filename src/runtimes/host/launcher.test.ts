import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LaunchStep, launcherArguments } from './launcher.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'launcher-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs the launcher with descriptor 3 going to a file, and answers what it said there and on its output. */
function launch(
  steps: readonly LaunchStep[],
  program: readonly string[],
  before = '',
): { output: string; status: string } {
  const status = join(folder, 'status');
  const [bash = '', ...args] = launcherArguments('/bin/bash', steps, program, { keepStatus: false });
  const output = execFileSync(
    '/bin/bash',
    ['--norc', '-c', `${before} exec 3>"$0"; exec "$@"`, status, bash, ...args],
    {
      env: { PATH: '/usr/bin:/bin', PWD: process.cwd(), ONLY: 'this' },
      // Without a socket as standard input, which bash takes for a remote shell's.
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
    },
  );
  return { output, status: readFileSync(status, 'utf8') };
}

describe('the launcher', () => {
  it('keeps arguments apart, whatever they hold', () => {
    const words = ['two words', '$(id)', "a'b", 'a"b', '', '--', '-n', 'line\nbreak'];
    const { output } = launch([], ['/usr/bin/printf', '<%s>', ...words]);
    expect(output).toBe(words.map((word) => `<${word}>`).join(''));
  });

  it('closes every descriptor above 2, high ones too', () => {
    const before = 'exec 9</ 17</ 200</etc;';
    expect(execFileSync('/bin/bash', ['-c', `${before} ls /proc/self/fd`], { encoding: 'utf8' })).toContain(
      '200',
    );
    const { output } = launch([], ['/bin/ls', '/proc/self/fd'], before);
    // The last one is the folder that ls reads.
    expect(output.trim().split('\n')).toEqual(['0', '1', '2', '3']);
  });

  it('says that the program starts before it does', () => {
    expect(launch([], ['/bin/true']).status).toBe('{"started":true}\n');
  });

  it('adds nothing to the environment', () => {
    expect(launch([], ['/usr/bin/env']).output.trim().split('\n').sort()).toEqual([
      'ONLY=this',
      'PATH=/usr/bin:/bin',
      `PWD=${process.cwd()}`,
    ]);
  });

  it('sets limits, and takes a lower limit of the host for kept', () => {
    const limits: LaunchStep[] = [
      { limit: 'openFiles', value: 50 },
      { limit: 'coreBlocks', value: 0 },
    ];
    expect(launch(limits, ['/bin/bash', '-c', 'ulimit -n; ulimit -c']).output).toBe('50\n0\n');
    // An ordinary user cannot raise what root can: the limit is lowered before and asked for again, higher.
    expect(launch(limits, ['/bin/bash', '-c', 'ulimit -n'], 'ulimit -n 40;').output).toMatch(/^[45]0\n$/);
  });

  it('opens files under the descriptors that were asked for', () => {
    writeFileSync(join(folder, 'a file'), 'content');
    const { output } = launch([{ openFile: join(folder, 'a file'), as: 6 }], ['/bin/bash', '-c', 'cat <&6']);
    expect(output).toBe('content');
  });

  it('gives up with a reason when a step fails', () => {
    expect(() => launch([{ joinCgroup: '/nonexistent/cgroup.procs' }], ['/bin/true'])).toThrow();
    expect(readFileSync(join(folder, 'status'), 'utf8')).toBe('{"failed":"could not enter a cgroup"}\n');
  });
});
