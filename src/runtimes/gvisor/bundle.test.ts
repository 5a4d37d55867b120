import { describe, expect, it } from 'vitest';
import { type BundleSpec, bundleConfig, type RunSpec, runArguments } from './bundle.ts';

const SPEC: BundleSpec = {
  argv: ['/usr/bin/python3', '/workspace/main.py', 'two words'],
  environment: { HOME: '/workspace', 'BASH_FUNC_x%%': '() { id; }' },
  root: { path: '/mnt/control/root', readonly: true },
  init: '/mnt/control/init',
  empty: { file: '/mnt/control/nothing', folder: '/mnt/control/empty' },
  stage: '/mnt',
  frames: false,
  report: 'report-1',
  limits: { processes: 64, diskMb: 16, cpuSec: 44 },
};

describe('the bundle', () => {
  it('is exactly this', () => {
    const ours = ['CAP_KILL', 'CAP_SETGID', 'CAP_SETUID', 'CAP_SETPCAP'];
    const limit = (type: string, value: number) => ({ type, hard: value, soft: value });
    const shown = (source: string, destination: string) => ({
      destination,
      type: 'bind',
      source,
      options: ['bind', 'rw', 'nosuid', 'nodev'],
    });
    expect(bundleConfig(SPEC)).toEqual({
      ociVersion: '1.0.2',
      root: { path: '/mnt/control/root', readonly: true },
      hostname: 'glovebox',
      process: {
        user: { uid: 0, gid: 0 },
        args: [
          ...['/run/glovebox/init', '/run/glovebox/report-1', '/run/glovebox/settings'],
          ...['', '', '', '', ''],
          ...['/usr/bin/python3', '/workspace/main.py', 'two words'],
        ],
        env: ['HOME=/workspace', 'BASH_FUNC_x%%=() { id; }'],
        cwd: '/workspace',
        noNewPrivileges: true,
        capabilities: { bounding: ours, effective: ours, permitted: ours, inheritable: [], ambient: [] },
        rlimits: [
          limit('RLIMIT_CORE', 0),
          limit('RLIMIT_CPU', 44),
          limit('RLIMIT_FSIZE', 16 * 1024 * 1024),
          limit('RLIMIT_NOFILE', 1024),
          limit('RLIMIT_NPROC', 64),
        ],
      },
      mounts: [
        { destination: '/proc', type: 'proc', source: 'proc' },
        { destination: '/dev', type: 'dev', source: 'dev' },
        shown('/mnt/workspace', '/workspace'),
        shown('/mnt/tmp', '/tmp'),
        shown('/mnt/shm', '/dev/shm'),
        shown('/mnt/control/init', '/run/glovebox'),
        { ...shown('/mnt/control/nothing', '/dev/fuse'), options: ['bind', 'ro'] },
        { ...shown('/mnt/control/empty', '/dev/net'), options: ['bind', 'ro'] },
      ],
      linux: {
        namespaces: [
          { type: 'pid' },
          { type: 'mount' },
          { type: 'ipc' },
          { type: 'uts' },
          { type: 'network' },
        ],
      },
    });
  });

  it('asks for frames where an interpreter waits', () => {
    const { process } = bundleConfig({ ...SPEC, frames: true }) as { process: { args: string[] } };
    expect(process.args[3]).toBe('frames');
  });

  it('names the relay before the program', () => {
    const relay = { port: 3128, input: 'relay-in-1', output: 'relay-out-1' };
    expect(bundleConfig({ ...SPEC, relay })).toMatchObject({
      process: {
        args: [
          ...['/run/glovebox/init', '/run/glovebox/report-1', '/run/glovebox/settings', ''],
          ...['/run/glovebox/relay', '3128', '/run/glovebox/relay-in-1', '/run/glovebox/relay-out-1'],
          ...SPEC.argv,
        ],
      },
    });
  });

  it.each([
    ['an argument', { argv: ['/bin/true', 'a\0b'] }],
    ['a variable', { environment: { A: 'a\0b' } }],
  ])('refuses a NUL in %s', (_, change) => {
    expect(() => bundleConfig({ ...SPEC, ...change })).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID' }),
    );
  });
});

describe("the arguments of runsc's run", () => {
  const SPEC: RunSpec = {
    dialect: { platform: 'systrap', flags: new Set(['overlay2']) },
    state: '/mnt/control/state',
    bundle: '/mnt/control/bundle-1',
    id: '1',
    withPipes: false,
  };

  it('are exactly these', () => {
    expect(runArguments(SPEC).join(' ')).toBe(
      [
        '--root=/mnt/control/state --platform=systrap --network=none --ignore-cgroups --overlay2=none',
        '--log=/mnt/control/bundle-1/log --panic-log=/mnt/control/bundle-1/panic',
        'run --bundle=/mnt/control/bundle-1 1',
      ].join(' '),
    );
  });

  it('name no flag that the engine does not know', () => {
    const dialect = { platform: 'ptrace', flags: new Set<string>() };
    expect(runArguments({ ...SPEC, dialect }).join(' ')).not.toContain('overlay');
  });

  it('let pipes of the host be opened only where a relay needs them', () => {
    expect(
      [true, false].map((withPipes) => runArguments({ ...SPEC, withPipes }).includes('--host-fifo=open')),
    ).toEqual([true, false]);
  });
});
