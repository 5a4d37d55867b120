import { describe, expect, it } from 'vitest';
import { cgroupLayout } from './find.ts';

const mount = (root: string, where: string, type: string, options: string): string =>
  `30 24 0:26 ${root} ${where} rw,nosuid shared:9 - ${type} ${type} rw,${options}`;

describe('where our cgroups are', () => {
  it('is told for version 1, controllers that share a hierarchy included', () => {
    const layout = cgroupLayout(
      [
        mount('/', '/sys/fs/cgroup/memory', 'cgroup', 'memory'),
        mount('/', '/sys/fs/cgroup/cpu,cpuacct', 'cgroup', 'cpu,cpuacct'),
      ].join('\n'),
      '4:memory:/a/b\n2:cpu,cpuacct:/\n0::/\n',
    );
    expect(layout).toEqual({
      version1: {
        memory: { mount: '/sys/fs/cgroup/memory', own: '/sys/fs/cgroup/memory/a/b' },
        cpu: { mount: '/sys/fs/cgroup/cpu,cpuacct', own: '/sys/fs/cgroup/cpu,cpuacct' },
        cpuacct: { mount: '/sys/fs/cgroup/cpu,cpuacct', own: '/sys/fs/cgroup/cpu,cpuacct' },
      },
    });
  });

  it('is told for version 2', () => {
    expect(
      cgroupLayout(
        mount('/', '/sys/fs/cgroup', 'cgroup2', 'nsdelegate'),
        '0::/user.slice/user-1000.slice/x.scope\n',
      ),
    ).toEqual({
      version1: {},
      unified: { mount: '/sys/fs/cgroup', own: '/sys/fs/cgroup/user.slice/user-1000.slice/x.scope' },
    });
  });

  it('takes a container that sees only its own part into account', () => {
    const layout = cgroupLayout(
      mount('/docker/abc', '/sys/fs/cgroup/pids', 'cgroup', 'pids'),
      '3:pids:/docker/abc\n',
    );
    expect(layout.version1).toEqual({ pids: { mount: '/sys/fs/cgroup/pids', own: '/sys/fs/cgroup/pids' } });
  });
});
