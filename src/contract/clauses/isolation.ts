import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAtLeast } from '../../policy/isolation.ts';
import type { Capabilities } from '../../runtimes/runtime.ts';
import { newNonce } from '../box.ts';
import type { Clause, ClauseContext } from '../clause.ts';
import { must, mustEqual, shown } from '../expectations.ts';
import { namespaceOf, parseStatus, statusOf } from '../hostView.ts';
import type { PolicyWish } from '../wish.ts';

const PRIVATE_FILES = {
  claimedBy: ({ filesystem }: Capabilities): boolean => filesystem === 'private',
  asks: { requires: { filesystem: 'private' } } satisfies PolicyWish,
};

const NAMESPACES = {
  claimedBy: ({ isolation }: Capabilities): boolean => isAtLeast(isolation, 'namespace'),
  asks: { requires: { isolation: 'namespace' } } satisfies PolicyWish,
};

/** Makes a segment of System V shared memory, looks for one, or removes it, by key. */
const SHARED_MEMORY = `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def segment(key, flags): return libc.shmget(key, 4096, flags)
`;

export const ISOLATION_CLAUSES: readonly Clause[] = [
  {
    id: 'sandboxes-apart',
    promise: 'Two sandboxes at one time have nothing of each other in their workspaces.',
    async check(context) {
      const [one, two] = await Promise.all([context.open(), context.open()]);
      await one.python('open("mine.txt", "w").write("mine")');
      await one.writeFile('ours.txt', 'ours');
      const seen = await two.ask<string[]>('print(json.dumps(sorted(os.listdir("."))))');
      mustEqual(seen, ['main.py'], "the second sandbox's workspace");
      mustEqual(
        (await two.listFiles()).map(({ name }) => name),
        ['main.py'],
        "the listing of the second sandbox's workspace",
      );
    },
  },
  {
    id: 'sandboxes-share-nothing',
    promise: 'Two sandboxes share no /tmp, no /dev/shm and no System V memory.',
    ...PRIVATE_FILES,
    async check(context) {
      const [one, two] = await Promise.all([context.open(), context.open()]);
      const name = newNonce();
      const key = 1 + Math.floor(Math.random() * 0x7ffffffe);
      const args = [name, String(key)];
      const made = await one.ask<boolean>(
        `${SHARED_MEMORY}
for folder in ('/tmp', '/dev/shm'): open(folder + '/' + sys.argv[1], 'w').close()
print(json.dumps(segment(int(sys.argv[2]), 0o1666) >= 0))`,
        { args },
      );
      must(made, 'no shared memory could be made to be looked for');
      try {
        const seen = await two.ask<string[]>(
          `${SHARED_MEMORY}
seen = [folder for folder in ('/tmp', '/dev/shm') if os.path.exists(folder + '/' + sys.argv[1])]
if segment(int(sys.argv[2]), 0) >= 0: seen.append('System V memory')
print(json.dumps(seen))`,
          { args },
        );
        mustEqual(seen, [], 'the list of what is shared');
      } finally {
        // In a sandbox that shares it, it would stay on the host for good.
        await one.python(
          `${SHARED_MEMORY}
import os, sys
for folder in ('/tmp', '/dev/shm'): os.unlink(folder + '/' + sys.argv[1])
found = segment(int(sys.argv[2]), 0)
if found >= 0: libc.shmctl(found, 0, None)`,
          { args },
        );
      }
    },
  },
  {
    id: 'host-files-hidden',
    promise: "No file of the host's can be read but those that every program needs to run.",
    ...PRIVATE_FILES,
    async check(context) {
      const box = await context.open();
      const word = newNonce();
      const canaries = [tmpdir(), homedir()].map((folder) => join(folder, `.glovebox-canary-${word}`));
      const written: string[] = [];
      try {
        for (const path of canaries) {
          if (await tryWrite(path, word)) written.push(path);
        }
        must(written.length > 0, `no canary could be put into ${tmpdir()} or ${homedir()}`);
        const seen = await box.ask<string[]>(
          `seen = []
for path in sys.argv[1:] + ['/etc/shadow']:
    try: seen.append(path + ': ' + open(path).read()[:60])
    except OSError: pass
print(json.dumps(seen))`,
          { args: written },
        );
        mustEqual(seen, [], 'the list of what was read');
      } finally {
        for (const path of written) await rm(path, { force: true });
      }
    },
  },
  {
    id: 'system-read-only',
    promise: 'Nothing can be written outside the workspace and the temporary folders.',
    ...PRIVATE_FILES,
    async check(context) {
      const box = await context.open();
      const writable = await box.ask<string[]>(
        `writable = []
for folder in ('/', '/usr', '/usr/bin', '/usr/lib', '/etc', '/bin', '/lib', '/var', '/home', '/root', '/opt', '/srv', '/run', '/sys', os.path.dirname(sys.executable), *sys.argv[2:]):
    path = os.path.join(folder, sys.argv[1])
    try: open(path, 'x').close()
    except OSError: continue
    os.unlink(path)
    writable.append(folder)
for path in ('/etc/passwd', '/usr/bin/env', '/proc/sys/kernel/hostname', sys.executable):
    try: os.close(os.open(path, os.O_WRONLY))
    except OSError: continue
    writable.append(path)
print(json.dumps(writable))`,
        // The host's home is writable to whoever runs as its user, and nothing else may be.
        { args: [newNonce(), homedir()] },
      );
      mustEqual(writable, [], 'the list of what can be written');
    },
  },
  {
    id: 'host-processes-hidden',
    promise: "No process of the host's can be seen or signalled.",
    ...NAMESPACES,
    async check(context) {
      const box = await context.open();
      const word = newNonce();
      const canary = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 30_000)', word], {
        stdio: 'ignore',
      });
      try {
        const seen = await box.ask<{ commands: string[]; signalled: boolean }>(
          `commands = []
for pid in filter(str.isdigit, os.listdir('/proc')):
    try: commands.append(open('/proc/' + pid + '/cmdline').read())
    except OSError: pass
try:
    os.kill(int(sys.argv[1]), 0)
    signalled = True
except ProcessLookupError: signalled = False
except PermissionError: signalled = True
print(json.dumps({'commands': commands, 'signalled': signalled}))`,
          { args: [String(canary.pid)] },
        );
        must(!seen.commands.some((command) => command.includes(word)), "a process of the host's is seen");
        must(!seen.signalled, "a process of the host's can be named in a signal");
        must(
          // An init, relays for its output, and the program itself.
          seen.commands.length <= 6,
          `${seen.commands.length} processes are seen: ${shown(seen.commands)}`,
        );
      } finally {
        canary.kill('SIGKILL');
      }
    },
  },
  {
    id: 'not-root',
    promise: 'A program is not root, neither as itself sees it nor as the host does.',
    ...NAMESPACES,
    async check(context) {
      const box = await context.open();
      const ids = await box.ask<number[]>(
        'print(json.dumps(os.getresuid() + os.getresgid() + tuple(os.getgroups())))',
      );
      must(!ids.includes(0), `its user and group ids are ${shown(ids)}`);
      await fromHost(context, async (status) => {
        const uids = status['Uid']?.split('\t') ?? [];
        const gids = [...(status['Gid']?.split('\t') ?? []), ...(status['Groups']?.split(' ') ?? [])];
        // What runs us as root's caller may be all there is; its groups are then its own.
        must(!uids.includes('0'), `the host sees its user ids as ${uids.join(' ')}`);
        if (process.getuid?.() === 0)
          must(!gids.includes('0'), `the host sees its groups as ${gids.join(' ')}`);
      });
    },
  },
  {
    id: 'no-privileges',
    promise: 'A program has no capability and can gain none, seen from inside and from the host.',
    ...NAMESPACES,
    async check(context) {
      const box = await context.open();
      const inside = await box.ask<string>('print(json.dumps(open("/proc/self/status").read()))');
      mustHaveNoPrivileges(parseStatus(inside), 'inside');
      await fromHost(context, (status) => mustHaveNoPrivileges(status, 'from the host'));
    },
  },
  {
    id: 'seccomp',
    promise: 'A seccomp filter is active, seen from inside and from the host.',
    claimedBy: ({ seccomp }) => seccomp,
    asks: { requires: { seccomp: true } },
    async check(context) {
      const box = await context.open();
      const inside = await box.ask<string>('print(json.dumps(open("/proc/self/status").read()))');
      mustEqual(parseStatus(inside)['Seccomp'], '2', 'Seccomp inside');
      mustEqual(box.enforced.seccomp, true, 'enforced.seccomp');
      await fromHost(context, (status) => mustEqual(status['Seccomp'], '2', 'Seccomp from the host'));
    },
  },
  {
    id: 'no-mounts',
    promise: 'A program can mount nothing and can enter and make no namespace.',
    ...NAMESPACES,
    async check(context) {
      const box = await context.open();
      const allowed = await box.ask<string[]>(
        `import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def may(call, *args):
    ctypes.set_errno(0)
    # ENODEV: only the made-up file system was missing.
    return call(*args) == 0 or ctypes.get_errno() == errno.ENODEV
allowed = []
if may(libc.mount, b'none', os.getcwd().encode(), b'glovebox-no-such-type', 0, None): allowed.append('mount')
# In a child: what it may do, it shall not do to the rest.
for name, flags in {'user': 0x10000000, 'mnt': 0x20000, 'net': 0x40000000, 'pid': 0x20000000}.items():
    child = os.fork()
    if child == 0: os._exit(0 if may(libc.unshare, flags) else 1)
    if os.waitpid(child, 0)[1] == 0: allowed.append('unshare ' + name)
for name in ('mnt', 'net'):
    if may(libc.setns, os.open('/proc/self/ns/' + name, os.O_RDONLY), 0): allowed.append('setns ' + name)
print(json.dumps(allowed))`,
      );
      mustEqual(allowed, [], 'the list of what is allowed');
    },
  },
  {
    id: 'namespaces',
    promise: "Its process, mount, IPC, host name and cgroup namespaces are not the host's.",
    ...NAMESPACES,
    async check(context) {
      const box = await context.open();
      // A container's engine may give it the host's user namespace; what that must not allow, other clauses say.
      const isNamespace = context.capabilities.isolation === 'namespace';
      const kinds = ['pid', 'mnt', 'ipc', 'uts', 'cgroup', ...(isNamespace ? ['user'] : [])];
      const inside = await box.ask<Record<string, string>>(
        `print(json.dumps({kind: os.readlink('/proc/self/ns/' + kind) for kind in sys.argv[1:] if os.path.lexists('/proc/self/ns/' + kind)}))`,
        { args: kinds },
      );
      const shared = kinds.filter(
        (kind) => inside[kind] !== undefined && inside[kind] === namespaceOf('self', kind),
      );
      mustEqual(shared, [], "the list of the host's namespaces that it is in");
      await fromHost(context, (_, pid) => {
        const same = kinds.filter((kind) => {
          const its = namespaceOf(pid, kind);
          return its !== undefined && its === namespaceOf('self', kind);
        });
        mustEqual(same, [], "the list of the host's namespaces that the host sees it in");
      });
    },
  },
  {
    id: 'kernel-of-its-own',
    promise: "Programs do not run on the host's kernel.",
    claimedBy: ({ isolation }) => isAtLeast(isolation, 'kernel'),
    asks: { requires: { isolation: 'kernel' } },
    check: mustHaveAnotherKernel,
  },
  {
    id: 'machine-of-its-own',
    promise: "Programs run in a machine of their own, which the host's kernel cannot look into.",
    claimedBy: ({ isolation }) => isAtLeast(isolation, 'machine'),
    asks: { requires: { isolation: 'machine' } },
    async check(context) {
      await mustHaveAnotherKernel(context);
      must(!context.hostVisible, "its programs are processes of the host's kernel");
    },
  },
  {
    id: 'parallel',
    promise: 'Sandboxes at one time do not disturb one another: each gets its own answer.',
    async check(context) {
      const numbers = Array.from({ length: 6 }, (_, number) => number);
      const answers = await Promise.all(
        numbers.map(async (number) => {
          const box = await context.open();
          await box.writeFile('number.txt', String(number));
          const { stdout, exitCode } = await box.python(
            'import sys, time\ntime.sleep(0.3)\nprint(open("number.txt").read(), sys.argv[1]); sys.exit(int(sys.argv[1]))',
            { args: [String(number)] },
          );
          await box.close();
          return [stdout, exitCode];
        }),
      );
      mustEqual(
        answers,
        numbers.map((number) => [`${number} ${number}\n`, number]),
        'the list of answers',
      );
    },
  },
];

/** Looks at a program's status from the host, where the host can see it. */
async function fromHost(
  context: ClauseContext,
  look: (status: Readonly<Record<string, string>>, pid: number) => void | Promise<void>,
): Promise<void> {
  if (!context.hostVisible) return;
  const box = await context.open();
  const seen = await box.watch(async (pid) => {
    await look(statusOf(pid), pid);
    return true;
  });
  must(seen === true, 'a program that the host could see before is seen no more');
}

const NO_CAPABILITY = /^0+$/;

function mustHaveNoPrivileges(status: Readonly<Record<string, string>>, where: string): void {
  for (const name of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) {
    const value = status[name];
    must(value === undefined || NO_CAPABILITY.test(value), `${name} is ${value} ${where}`);
  }
  mustEqual(status['NoNewPrivs'], '1', `NoNewPrivs ${where}`);
}

async function mustHaveAnotherKernel(context: ClauseContext): Promise<void> {
  const box = await context.open();
  const path = '/proc/sys/kernel/random/boot_id';
  const inside = await box.ask<string | null>(
    `path = '${path}'\nprint(json.dumps(open(path).read() if os.path.exists(path) else None))`,
  );
  must(inside !== readFileSync(path, 'utf8'), "it is the same boot of the same kernel as the host's");
}

async function tryWrite(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { mode: 0o644, flag: 'wx' });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A home that is not there or not ours to write holds no canary.
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EROFS') return false;
    throw error;
  }
}
