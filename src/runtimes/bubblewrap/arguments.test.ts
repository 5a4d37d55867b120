import { describe, expect, it } from 'vitest';
import { type BubblewrapSpec, bubblewrapArguments } from './arguments.ts';

const SPEC: BubblewrapSpec = {
  host: {
    usr: ['/usr/bin', '/usr/lib'],
    roots: [{ path: '/bin', link: 'usr/bin' }, { path: '/lib64' }],
    etc: ['/etc/ld.so.cache'],
    hiddenProc: ['/proc/keys'],
  },
  stage: '/mnt',
  prefixes: [{ source: '/mnt/prefixes/0', path: '/root/python' }],
  network: 'own',
  networkFiles: [],
  environment: { HOME: '/workspace', GREETING: 'two words' },
  statusFd: 3,
  seccompFd: 7,
};

describe('the arguments of bubblewrap', () => {
  it('are exactly these', () => {
    expect(bubblewrapArguments(SPEC).join(' ')).toBe(
      [
        '--unshare-all --unshare-user --disable-userns',
        '--uid 1000 --gid 1000 --hostname glovebox',
        '--die-with-parent --new-session --cap-drop ALL --clearenv',
        '--setenv HOME /workspace --setenv GREETING two words',
        '--ro-bind /usr/bin /usr/bin --ro-bind /usr/lib /usr/lib',
        '--symlink usr/bin /bin --ro-bind /lib64 /lib64',
        '--ro-bind /etc/ld.so.cache /etc/ld.so.cache',
        '--ro-bind /mnt/passwd /etc/passwd --ro-bind /mnt/group /etc/group',
        '--ro-bind /mnt/hosts /etc/hosts --ro-bind /mnt/nsswitch.conf /etc/nsswitch.conf',
        '--proc /proc --ro-bind /proc/sys /proc/sys --dev /dev',
        '--ro-bind /mnt/nothing /proc/keys',
        '--bind /mnt/workspace /workspace --bind /mnt/tmp /tmp --bind /mnt/shm /dev/shm',
        '--ro-bind /mnt/prefixes/0 /root/python',
        '--remount-ro /dev --remount-ro /',
        '--chdir /workspace',
        '--json-status-fd 3 --seccomp 7',
      ].join(' '),
    );
  });

  it('share the network and show what names need only when it is open', () => {
    const networkFiles = [{ source: '/run/resolv.conf', path: '/etc/resolv.conf' }];
    const open = bubblewrapArguments({ ...SPEC, network: 'inherited', networkFiles });
    const closed = bubblewrapArguments(SPEC);
    expect(open.filter((argument) => !closed.includes(argument))).toEqual([
      '--share-net',
      '/run/resolv.conf',
      '/etc/resolv.conf',
    ]);
  });

  it('cannot be smuggled in', () => {
    const environment = { GREETING: 'hello\0--bind\0/\0/host' };
    expect(() => bubblewrapArguments({ ...SPEC, environment })).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID' }),
    );
  });

  it('never make anything of the host writable', () => {
    const args = bubblewrapArguments({ ...SPEC, network: 'inherited' });
    const bound = args.flatMap((argument, index) => (argument === '--bind' ? [args[index + 1]] : []));
    expect(bound).toEqual(['/mnt/workspace', '/mnt/tmp', '/mnt/shm']);
    expect(args).not.toContain('--dev-bind');
  });
});
