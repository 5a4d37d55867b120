import { once } from 'node:events';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import type { LaunchStep, Orders } from '../launcher.ts';
import { closePipe, type Pipe } from '../pipe.ts';
import { starterProgram } from './program.ts';
import type { Source } from './protocol.ts';
import { Starter } from './starter.ts';
import { beginningWords, orderBytes } from './words.ts';

const isMissing = process.platform !== 'linux' || starterProgram(process.arch) === undefined;
const isRoot = process.getuid?.() === 0;

describe.skipIf(isMissing)('a launcher that is a copy of the starter', () => {
  let starter: Starter;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'launcher-test-'));
    starter = (await Starter.open()) as Starter;
  });
  afterAll(() => {
    starter.retire();
    rmSync(folder, { recursive: true });
  });

  /** Starts one, which waits. */
  async function prepare(steps: readonly LaunchStep[] = [], makes: 'nothing' | 'mounts' = 'nothing') {
    const pipes = (await starter.makePipes(4)) as [Pipe, Pipe, Pipe, Pipe];
    const [output, errors, status, orders] = pipes;
    const writing = ({ write }: Pipe): Source => ({ descriptor: write, flags: constants.O_WRONLY });
    const child = starter.start(
      {
        argv: beginningWords(makes, steps) as string[],
        waits: true,
        ...{ cwd: folder, environment: {} },
        sources: [
          'ignore',
          ...[output, errors, status].map(writing),
          { descriptor: orders.read, flags: constants.O_RDONLY },
        ],
      },
      undefined,
    );
    if (child === undefined) throw new Error('not taken');
    const exit = once(child, 'exit');
    const read = (pipe: Pipe) => text(new Socket({ fd: pipe.read, readable: true, writable: false }));
    const said = { output: read(output), errors: read(errors), status: read(status) };
    await once(child, 'spawn');
    for (const end of [output.write, errors.write, status.write, orders.read]) closeSync(end);
    const way = new Socket({ fd: orders.write, readable: false, writable: true });
    return { child, exit, said, way };
  }

  /** Lets one become a program; resolves to all that was said. */
  async function launch(
    orders: Partial<Orders> & Pick<Orders, 'program'>,
    given: readonly LaunchStep[] = [],
  ) {
    const { exit, said, way } = await prepare(given);
    way.end(orderBytes({ steps: [], environment: {}, ...orders }, {}));
    const [output, errors, status] = await Promise.all([said.output, said.errors, said.status]);
    return { output, errors, status, exit: await exit };
  }

  const sh = (script: string): string[] => ['/bin/sh', '-c', script];
  const STARTED = '{"ready":true}\n{"started":true}\n';

  it('becomes exactly the program that it is told, with these variables and no others', async () => {
    const words = ['two words', '', '$(id)', 'line\nbreak', 'ü', '--'];
    const environment = {
      EMPTY: '',
      A: 'b=c',
      LC_ALL: 'C.UTF-8',
      SHLVL: '5',
      'BASH_FUNC_exec%%': '() { id; }',
    };
    const script = 'import os,sys,json; print(json.dumps([os.getcwd(), dict(os.environ), sys.argv[1:]]))';
    const { output, status, exit } = await launch({
      program: ['/usr/bin/python3', '-c', script, ...words],
      environment,
    });
    expect(JSON.parse(output)).toEqual([folder, environment, words]);
    expect(status).toBe(STARTED);
    expect(exit).toEqual([0, null]);
  });

  it('takes orders that are longer than a pipe', async () => {
    const long = 'x'.repeat(100_000);
    const { output } = await launch({ program: ['/bin/echo', '-n', long, long] });
    expect(output).toBe(`${long} ${long}`);
  });

  it('ends without a program when nobody gives it one', async () => {
    const { exit, said, way } = await prepare();
    way.destroy();
    expect(await exit).toEqual([0, null]);
    expect(await said.status).toBe('{"ready":true}\n');
  });

  it('ends when somebody tells it to while it waits', async () => {
    const { child, exit } = await prepare();
    child.kill('SIGTERM');
    expect(await exit).toEqual([null, 'SIGTERM']);
  });

  it('says as env does that there is no such program, and leaves what is none to a shell', async () => {
    const missing = await launch({ program: ['/no/such/program'] });
    expect(missing).toEqual({
      ...{ output: '', status: STARTED, exit: [127, null] },
      errors: 'glovebox: /no/such/program: No such file or directory\n',
    });
    writeFileSync(join(folder, 'named'), '#!/bin/sh\necho ran', { mode: 0o755 });
    expect((await launch({ program: ['named'] })).exit).toEqual([127, null]);
    expect((await launch({ program: ['/etc/passwd'] })).exit).toEqual([126, null]);
    writeFileSync(join(folder, 'script'), 'echo $0 $1', { mode: 0o755 });
    const script = join(folder, 'script');
    expect((await launch({ program: [script, 'x'] })).output).toBe(`${script} x\n`);
  });

  it('enters groups, sets limits and opens files before', async () => {
    for (const name of ['tasks', 'given']) writeFileSync(join(folder, name), name);
    const { output } = await launch({
      steps: [
        { joinCgroup: join(folder, 'tasks') },
        { limit: 'openFiles', value: 50 },
        { limit: 'coreBlocks', value: 0 },
        { limit: 'fileSizeKb', value: 2 },
        { limit: 'cpuSec', value: 9 },
        { openFile: join(folder, 'given'), as: 0 },
      ],
      program: sh('ulimit -n; ulimit -c; ulimit -f; ulimit -t; cat'),
    });
    // That shell counts file sizes in blocks of 512 bytes.
    expect(output.split('\n')).toEqual(['50', '0', '4', '9', 'given']);
    expect(readFileSync(join(folder, 'tasks'), 'utf8')).toBe('0asks');
  });

  it('gives up, and says why, when it cannot do as it was told', async () => {
    const { status, exit } = await launch({
      steps: [{ joinCgroup: join(folder, 'no/such/group') }],
      program: ['/bin/touch', join(folder, 'ran')],
    });
    expect(status).toBe('{"ready":true}\n{"failed":"could not enter a cgroup: No such file or directory"}\n');
    expect(exit).toEqual([125, null]);
    expect(existsSync(join(folder, 'ran'))).toBe(false);
  });

  it('has nothing open of another one, nor of the starter, while it waits', async () => {
    const others = await starter.makePipes(3);
    const first = await prepare();
    const second = await prepare();
    const open = (pid: number | undefined): string[] => readdirSync(`/proc/${pid}/fd`);
    await eventually('both wait', () => [first, second].every(({ child }) => open(child.pid).length === 5));
    expect(open(second.child.pid)).toEqual(['0', '1', '2', '3', '4']);
    others.forEach(closePipe);
    // Otherwise the output of the first one would not end before the second one does.
    first.way.end(orderBytes({ steps: [], program: ['/bin/true'], environment: {} }, {}));
    expect(await first.said.output).toBe('');
    second.way.destroy();
    await second.exit;
  });

  it('holds back from the modes of new files what we do now', async () => {
    const before = process.umask(0o077);
    try {
      expect((await launch({ program: sh('umask') })).output).toBe('0077\n');
    } finally {
      process.umask(before);
    }
    expect((await launch({ program: sh('umask') })).output).toBe(`${before.toString(8).padStart(4, '0')}\n`);
  });

  it.skipIf(!isRoot)('becomes another user, who has no right and no group left', async () => {
    const { output } = await launch({
      user: { uid: 4242, gid: 4343, with: '/nowhere' },
      program: ['/bin/grep', '-E', '^(Uid|Gid|Groups|CapEff|CapPrm):', '/proc/self/status'],
    });
    expect(
      output
        .replaceAll(/[ \t]+$/gm, '')
        .trim()
        .split('\n'),
    ).toEqual([
      'Uid:\t4242\t4242\t4242\t4242',
      'Gid:\t4343\t4343\t4343\t4343',
      'Groups:',
      'CapPrm:\t0000000000000000',
      'CapEff:\t0000000000000000',
    ]);
  });

  it.skipIf(!isRoot)(
    'makes mounts that nobody else sees, with folders that everybody may enter',
    async () => {
      const place = join(folder, 'memory');
      const there = join(place, 'deep/place');
      mkdirSync(place);
      mkdirSync(join(folder, 'shown'));
      writeFileSync(join(folder, 'shown/file'), 'seen');
      const { said, way } = await prepare(
        [
          { mountMemory: place, options: 'size=64k,nr_inodes=20,mode=0755,nosuid,nodev', with: '' },
          { bind: join(folder, 'shown'), at: there, with: '' },
        ],
        'mounts',
      );
      const program = sh(
        `cat ${there}/file; stat -c ' %a' ${place}/deep; grep ' ${place} ' /proc/self/mountinfo`,
      );
      way.end(orderBytes({ steps: [], program, environment: { PATH: '/bin:/usr/bin' } }, {}));
      const [first, second] = (await said.output).split('\n');
      expect(first).toBe('seen 755');
      expect(second).toMatch(/ rw,nosuid,nodev,relatime - tmpfs glovebox rw,size=64k,nr_inodes=20,mode=755/);
      expect(readdirSync(place)).toEqual([]);
    },
  );
});
