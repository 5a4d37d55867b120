import { describe, expect, it } from 'vitest';
import type { Policy } from '../../policy/policy.ts';
import type { ProgramLimits } from '../runtime.ts';
import { BOOTSTRAP } from './bootstrap.ts';
import {
  type ContainerSpec,
  containerBody,
  diskShares,
  mountOptions,
  processesOfOurs,
  tightened,
} from './container.ts';

const limit = (value: number) => ({ value, default: true });

const policy: Policy = {
  network: 'none',
  networkIsDefault: true,
  limits: {
    memoryMb: limit(100),
    diskMb: limit(8),
    processes: limit(20),
    timeoutSec: limit(30),
    cpu: limit(0.5),
  },
  requires: {},
};

const spec: ContainerSpec = {
  image: 'sha256:1234',
  imageVolumes: [],
  searchPath: '/usr/bin:/bin',
  user: { uid: 1610612737, gid: 1610612737 },
  policy,
  cores: 2,
  labels: { 'io.glovebox.owner': 'name' },
  processesBy: 'cgroup',
  securityOpt: ['no-new-privileges', 'seccomp={}'],
  sysctls: { 'net.ipv6.conf.all.disable_ipv6': '0' },
  isPodman: false,
};

interface Body {
  readonly [key: string]: unknown;
  readonly HostConfig: Readonly<Record<string, unknown>>;
}

const bodyFor = (changes: Partial<ContainerSpec> = {}): Body =>
  containerBody({ ...spec, ...changes }) as Body;

describe('a container', () => {
  it('is closed in every way that an engine knows', () => {
    const MIB = 1024 ** 2;
    expect(bodyFor()).toEqual({
      Image: 'sha256:1234',
      Entrypoint: ['/bin/sh', '-c', BOOTSTRAP, 'glovebox'],
      Cmd: [],
      Env: ['PATH=/usr/bin:/bin'],
      User: '1610612737:1610612737',
      WorkingDir: '/workspace',
      Hostname: 'glovebox',
      Labels: { 'io.glovebox.owner': 'name' },
      Tty: false,
      OpenStdin: true,
      StdinOnce: true,
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      NetworkDisabled: true,
      Healthcheck: { Test: ['NONE'] },
      HostConfig: {
        NetworkMode: 'none',
        Memory: 108 * MIB,
        MemorySwap: 108 * MIB,
        PidsLimit: 20,
        NanoCpus: 500_000_000,
        ReadonlyRootfs: true,
        Privileged: false,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges', 'seccomp={}'],
        Sysctls: { 'net.ipv6.conf.all.disable_ipv6': '0' },
        Init: true,
        IpcMode: 'private',
        CgroupnsMode: 'private',
        LogConfig: { Type: 'none' },
        AutoRemove: false,
        RestartPolicy: { Name: 'no' },
        Tmpfs: {
          '/workspace': `rw,exec,${mountOptions('workspace', spec)}`,
          '/tmp': `rw,exec,${mountOptions('tmp', spec)}`,
          '/dev/shm': `rw,exec,${mountOptions('shm', spec)}`,
        },
        Mounts: [],
        Ulimits: [
          { Name: 'core', Soft: 0, Hard: 0 },
          { Name: 'nofile', Soft: 1024, Hard: 1024 },
          { Name: 'fsize', Soft: 8 * MIB, Hard: 8 * MIB },
          { Name: 'cpu', Soft: 64, Hard: 64 },
        ],
      },
    });
  });

  it('gets interfaces of its own where the network is open, and never those of the host', () => {
    const { NetworkDisabled, HostConfig } = bodyFor({ policy: { ...policy, network: 'open' } });
    expect([NetworkDisabled, HostConfig['NetworkMode']]).toEqual([false, 'bridge']);
  });

  it('has nothing but its loopback where the network is an allowlist', () => {
    const { NetworkDisabled, HostConfig } = bodyFor({ policy: { ...policy, network: 'allowlist' } });
    expect([NetworkDisabled, HostConfig['NetworkMode']]).toEqual([true, 'none']);
  });

  it.each(['none', 'allowlist', 'open'] as const)(
    'joins the network of another container by that alone, with the network %s',
    (network) => {
      const { NetworkDisabled, Hostname, HostConfig } = bodyFor({
        policy: { ...policy, network },
        joins: 'id',
      });
      const { NetworkMode, Sysctls } = HostConfig;
      expect({ NetworkDisabled, Hostname, NetworkMode, Sysctls }).toEqual({
        NetworkDisabled: false,
        Hostname: undefined,
        NetworkMode: 'container:id',
        Sysctls: {},
      });
    },
  );

  it('has a name that tells nothing where an engine does not take over that of the container it joins', () => {
    expect(bodyFor({ joins: 'id', isPodman: true })['Hostname']).toBe('glovebox');
  });

  it('has room for a relay besides what a program may have', () => {
    const { PidsLimit, Tmpfs } = bodyFor({ relayBytes: 5000 }).HostConfig;
    expect(PidsLimit).toBe(21);
    expect((Tmpfs as Record<string, string>)['/dev/shm']).toContain(`size=${1024 ** 2 + 8192},`);
    const counted = bodyFor({ relayBytes: 5000, processesBy: 'rlimit' }).HostConfig['Ulimits'];
    expect(counted).toContainEqual({ Name: 'nproc', Soft: 24, Hard: 24 });
  });

  it("gives a first process of ours the place of the engine's, and room", () => {
    expect(bodyFor({}).HostConfig['Init']).toBe(true);
    const { Init, Tmpfs, PidsLimit } = bodyFor({ initBytes: 5000 }).HostConfig;
    expect([Init, PidsLimit]).toEqual([false, 20]);
    expect((Tmpfs as Record<string, string>)['/dev/shm']).toContain(`size=${1024 ** 2 + 8192},`);
  });

  it('has room for what keeps the files, for as long as that is needed', () => {
    const { HostConfig } = containerBody(spec, { script: 'cat' }) as Body;
    expect(HostConfig['PidsLimit']).toBe(20 + processesOfOurs({ relay: false, keeps: true }));
    expect(HostConfig['Ulimits']).not.toContainEqual(expect.objectContaining({ Name: 'cpu' }));
  });

  it('closes the volumes that an image declares', () => {
    const { Tmpfs } = bodyFor({ imageVolumes: ['/data'] }).HostConfig as { Tmpfs: Record<string, string> };
    expect(Tmpfs['/data']).toBe('ro,size=4096');
  });

  it('mounts nothing but volumes of ours, which stand in for two of its file systems', () => {
    const { Tmpfs, Mounts } = bodyFor({ volumes: { workspace: 'w', tmp: 't' } }).HostConfig;
    expect(Object.keys(Tmpfs as object)).toEqual(['/dev/shm']);
    expect(Mounts).toEqual([
      { Type: 'volume', Source: 'w', Target: '/workspace', ReadOnly: false, VolumeOptions: { NoCopy: true } },
      { Type: 'volume', Source: 't', Target: '/tmp', ReadOnly: false, VolumeOptions: { NoCopy: true } },
    ]);
  });

  it('leaves room for the threads of a kernel in user space, and counts processes inside it', () => {
    const { PidsLimit, Ulimits } = bodyFor({ processesBy: 'rlimit', runtime: 'runsc' }).HostConfig;
    expect(PidsLimit).toBeGreaterThan(1000);
    expect(Ulimits).toContainEqual({ Name: 'nproc', Soft: 23, Hard: 23 });
  });
});

describe('the disk limit', () => {
  it.each([1, 2, 7.5, 8, 11, 256, 1024])('of %s MB is what its shares come to, in whole pages', (diskMb) => {
    const shares = Object.values(diskShares(diskMb));
    expect(shares.reduce((sum, share) => sum + share)).toBe(Math.floor((diskMb * 1024 ** 2) / 4096) * 4096);
    expect(shares.every((share) => share > 0 && share % 4096 === 0)).toBe(true);
  });

  it('is mounted for its user alone, without devices and set-user-id programs', () => {
    expect(mountOptions('workspace', { ...spec, user: { uid: 5, gid: 6 } })).toBe(
      'size=6291456,nr_inodes=1536,mode=0755,uid=5,gid=6,nosuid,nodev',
    );
    expect(mountOptions('tmp', { ...spec, isPodman: true })).toBe('size=1048576,mode=1777,nosuid,nodev');
  });
});

describe('the limits of one program', () => {
  const limitsOf = (limits?: ProgramLimits) => {
    const { memoryMb, processes } = tightened(policy, limits).limits;
    return [memoryMb.value, processes.value];
  };

  it('are those of the sandbox, or less', () => {
    expect(limitsOf()).toEqual([100, 20]);
    expect(limitsOf({ memoryMb: 64 })).toEqual([64, 20]);
    expect(limitsOf({ memoryMb: 64, processes: 5 })).toEqual([64, 5]);
    expect(limitsOf({ memoryMb: 200, processes: 30 })).toEqual([100, 20]);
  });
});
