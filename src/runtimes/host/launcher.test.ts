import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LaunchStep, launcherArguments, writeOrders } from './launcher.ts';

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
  environment: Readonly<Record<string, string>> = {},
): { output: string; status: string } {
  const [status, orders, go] = ['status', 'orders', 'go'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const { text, variables } = writeOrders({ steps, program, environment });
  writeFileSync(orders, text);
  writeFileSync(go, `\n${variables}`);
  const argv = launcherArguments('/bin/bash', [], orders);
  const output = execFileSync(
    '/bin/bash',
    ['--norc', '-c', `${before} exec 3>"$0" 4<"$1"; shift; exec "$@"`, status, go, ...argv],
    {
      env: {},
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
    expect(launch([], ['/bin/true']).status).toBe('{"ready":true}\n{"started":true}\n');
  });

  it('hands over exactly the variables that were given, whatever bash makes of their names', () => {
    const environment = {
      ...{
        PATH: '/nowhere',
        PWD: folder,
        ONLY: 'this\nand that',
        EMPTY: '',
        LD_PRELOAD: '',
        UID: '7',
        PPID: '8',
      },
      ...{
        IFS: 'x',
        LC_ALL: 'xx_XX',
        RANDOM: 'fixed',
        SHLVL: '5',
        _: 'under',
        environment: 'e',
        glovebox_fd: 'f',
      },
      ...{ BASH_ENV: '/etc/profile', SHELLOPTS: 'xtrace', PS4: '$(id)', 'BASH_FUNC_exec%%': '() { id; }' },
    };
    const { output } = launch([], ['/usr/bin/env', '-0'], '', environment);
    const assignments = output.split('\0').filter(Boolean);
    const seen = Object.fromEntries(assignments.map((line) => line.split(/=(.*)/s).slice(0, 2)));
    expect(seen).toEqual({ ...environment, ...(seen['PWD'] === undefined ? {} : { PWD: seen['PWD'] }) });
  });

  it('writes no variable to the file, which may be on a disk', () => {
    const { text, variables } = writeOrders({
      steps: [],
      program: ['/bin/true'],
      environment: { KEY: 'secret', "it's": 'told' },
    });
    expect(text).not.toContain('secret');
    expect(variables).toBe('KEY=secret\0');
  });

  it('refuses a NUL, which would end a word', () => {
    const withNul = 'a\0b';
    for (const orders of [
      { steps: [], program: [withNul] },
      { steps: [], program: ['/bin/true'], environment: { A: withNul } },
      { steps: [], program: ['/bin/true'], environment: { LANG: withNul } },
    ]) {
      expect(() => writeOrders(orders)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
    }
  });

  it('runs nothing of the variables before all is held', () => {
    const steps: LaunchStep[] = [{ limit: 'openFiles', value: 50 }];
    const environment = {
      BASH_ENV: join(folder, 'early'),
      ENV: join(folder, 'early'),
      LD_PRELOAD: '/nonexistent.so',
    };
    writeFileSync(join(folder, 'early'), `echo early > ${join(folder, 'ran')}\n`);
    launch(steps, ['/bin/true'], '', environment);
    expect(existsSync(join(folder, 'ran'))).toBe(false);
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

  it('mounts by a table, with folders that everybody may enter', () => {
    const mount = join(folder, 'mount');
    writeFileSync(mount, '#!/bin/sh\necho "$@"; umask; cat "$3"\n', { mode: 0o755 });
    const step = { mountTable: 'a line\nanother\n', file: join(folder, 'table'), with: mount };
    const { output } = launch([step], ['/bin/bash', '-c', 'umask'], 'umask 077;');
    expect(output).toBe(`--all --fstab ${step.file}\n0022\na line\nanother\n0077\n`);
  });

  it('shows a folder in a place that everybody may enter', () => {
    const mount = join(folder, 'mount');
    writeFileSync(mount, '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    const at = join(folder, 'a/b');
    const { output } = launch([{ bind: '/usr', at, with: mount }], ['/bin/true'], 'umask 077;');
    const modes = ['a', 'a/b'].map((name) => statSync(join(folder, name)).mode & 0o777);
    expect({ output, modes }).toEqual({ output: `--bind /usr ${at}\n`, modes: [0o755, 0o755] });
  });

  it('makes folders and files that everybody may read, and goes on with the next step', () => {
    const steps: LaunchStep[] = [
      { makeFolders: [join(folder, 'a/b c'), join(folder, 'd')] },
      { writeFile: join(folder, 'a/b c/file'), text: '100%\nof "it"\n' },
    ];
    launch(steps, ['/bin/true'], 'umask 077;');
    expect(readFileSync(join(folder, 'a/b c/file'), 'utf8')).toBe('100%\nof "it"\n');
    const modes = ['a', 'a/b c', 'd', 'a/b c/file'].map((name) => statSync(join(folder, name)).mode & 0o777);
    expect(modes).toEqual([0o755, 0o755, 0o755, 0o644]);
  });

  it('opens files under the descriptors that were asked for', () => {
    writeFileSync(join(folder, 'a file'), 'content');
    const { output } = launch([{ openFile: join(folder, 'a file'), as: 6 }], ['/bin/bash', '-c', 'cat <&6']);
    expect(output).toBe('content');
  });

  it('gives up with a reason when a step fails', () => {
    expect(() => launch([{ joinCgroup: '/nonexistent/cgroup.procs' }], ['/bin/true'])).toThrow();
    expect(readFileSync(join(folder, 'status'), 'utf8')).toBe(
      '{"ready":true}\n{"failed":"could not enter a cgroup"}\n',
    );
  });
});
