import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A bundle as one would write by hand for `runsc run`: the host's system folders, read-only, and this command. */
export function writeBundle(folder: string, command: readonly string[]): void {
  const root = join(folder, 'rootfs');
  for (const name of ['usr', 'etc', 'proc', 'dev', 'tmp', 'workspace']) {
    mkdirSync(join(root, name), { recursive: true });
  }
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(root, name));
  const memory = (destination: string, megabytes: number): object => ({
    ...{ destination, type: 'tmpfs', source: 'tmpfs' },
    options: ['nosuid', 'nodev', 'mode=1777', `size=${megabytes * 1024 ** 2}`],
  });
  const config = {
    ociVersion: '1.0.2',
    process: {
      user: { uid: 1000, gid: 1000 },
      args: command,
      env: ['PATH=/usr/local/bin:/usr/bin:/bin', 'HOME=/workspace', 'LANG=C.UTF-8'],
      cwd: '/workspace',
      capabilities: {},
      noNewPrivileges: true,
      rlimits: [{ type: 'RLIMIT_NOFILE', hard: 1024, soft: 1024 }],
    },
    root: { path: 'rootfs', readonly: true },
    hostname: 'glovebox',
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/usr', type: 'bind', source: '/usr', options: ['ro', 'rbind'] },
      ...[memory('/workspace', 192), memory('/tmp', 32), memory('/dev/shm', 32)],
    ],
    linux: {
      namespaces: ['pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })),
      // The same limits as ours, or the comparison would be with something that may use more.
      cgroupsPath: `/bench-${process.pid}`,
      resources: {
        cpu: { quota: 50_000, period: 100_000 },
        memory: { limit: (512 + 256 + 64) * 1024 ** 2 },
      },
    },
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
}
