import { isAtLeast } from '../../policy/isolation.ts';
import { LIMIT_NAMES, type LimitName } from '../../policy/policy.ts';
import type { Capabilities, Enforced } from '../../runtimes/runtime.ts';
import type { Box } from '../box.ts';
import type { Clause } from '../clause.ts';
import { must, mustEqual } from '../expectations.ts';
import { cgroupFile, namespaceOf, rlimitOf, statusOf } from '../hostView.ts';
import type { PolicyWish } from '../wish.ts';

const MIB = 1024 ** 2;

/** Values that nobody has by default, so that an echo of the defaults shows. */
const ODD = { memoryMb: 97, diskMb: 11, processes: 23, cpu: 0.7 } as const;

function limit<Wish extends PolicyWish>(name: LimitName, asks: Wish) {
  return { claimedBy: ({ limits }: Capabilities): boolean => limits[name] !== 'none', asks };
}

export const TRUTH_CLAUSES: readonly Clause[] = [
  {
    id: 'enforced-as-claimed',
    promise: 'What is in force is what the runtime said that it can hold.',
    async check(context) {
      const { enforced } = await context.open();
      const { isolation, filesystem, processes, seccomp, network } = context.capabilities;
      mustEqual(
        [enforced.isolation, enforced.filesystem, enforced.processes, enforced.seccomp],
        [isolation, filesystem, processes, seccomp],
        'isolation, filesystem, processes and seccomp in force',
      );
      must(network.includes(enforced.network), `the network in force is "${enforced.network}"`);
    },
  },
  {
    id: 'enforced-limits',
    promise:
      'Each limit says its value, who holds it and who asked for it; one that nobody holds has no value.',
    async check(context) {
      const { capabilities } = context;
      const asked: PolicyWish = Object.fromEntries(
        Object.entries(ODD).filter(([name]) => capabilities.limits[name as LimitName] !== 'none'),
      );
      for (const wish of [{}, asked]) {
        const { enforced } = await context.open(wish);
        for (const name of LIMIT_NAMES) mustBeWhole(name, enforced, capabilities, wish);
      }
    },
  },
  {
    id: 'enforced-user',
    promise: "The user id in force is the one that the host's kernel sees.",
    async check(context) {
      const box = await context.open();
      const { uid } = box.enforced;
      if (!context.hostVisible) {
        must(
          uid === null || !isAtLeast(box.enforced.isolation, 'kernel'),
          `uid is ${uid}, which nobody can see`,
        );
        return;
      }
      const seen = await look(box, (pid) => statusOf(pid)['Uid']);
      mustEqual(seen, Array(4).fill(uid).join('\t'), 'the user ids that the host sees');
    },
  },
  {
    id: 'enforced-network',
    promise: "A program is in the host's network only where that is said to be open, and has one then.",
    async check(context) {
      for (const network of context.capabilities.network) {
        const box = await context.open({ network });
        mustEqual(box.enforced.network, network, 'the network in force');
        const reaches = await box.ask<boolean>(
          'import socket\nprint(json.dumps(any(name != "lo" for _, name in socket.if_nameindex())))',
        );
        must(
          reaches === (network === 'open'),
          `with network "${network}", there is ${reaches ? 'an' : 'no'} interface besides a loopback`,
        );
        if (!context.hostVisible) continue;
        const seen = await look(box, (pid) => namespaceOf(pid, 'net'));
        const isHosts = seen === namespaceOf('self', 'net');
        must(
          network === 'open' || !isHosts,
          `with network "${network}", the program is in the host's network`,
        );
      }
    },
  },
  {
    id: 'enforced-memory',
    promise: 'The memory limit in force is the one that the kernel holds.',
    ...limit('memoryMb', { memoryMb: ODD.memoryMb }),
    async check(context) {
      const box = await context.open();
      const { memoryMb, diskMb } = box.enforced.limits;
      mustEqual(memoryMb.value, ODD.memoryMb, 'the memory limit in force');
      if (!context.hostVisible) return;
      if (memoryMb.by === 'cgroup') {
        const text = await look(box, (pid) =>
          cgroupFile(pid, 'memory', { version1: 'memory.limit_in_bytes', version2: 'memory.max' }),
        );
        // The pages of a workspace in memory count as memory, and are allowed on top.
        const files = diskMb.by === 'tmpfs' ? (diskMb.value ?? 0) : 0;
        mustEqual(Number(text) / MIB, ODD.memoryMb + files, "the limit of the program's cgroup in MB");
      }
      if (memoryMb.by === 'rlimit') {
        const held = await look(box, (pid) => rlimitOf(pid, 'Max data size'));
        const bytes = String(ODD.memoryMb * MIB);
        mustEqual(held, { soft: bytes, hard: bytes }, "the program's limit of data");
      }
    },
  },
  {
    id: 'enforced-processes',
    promise: 'The process limit in force is the one that the kernel holds.',
    ...limit('processes', { processes: ODD.processes }),
    async check(context) {
      const box = await context.open();
      const { processes } = box.enforced.limits;
      mustEqual(processes.value, ODD.processes, 'the process limit in force');
      if (!context.hostVisible) return;
      if (processes.by === 'cgroup') {
        const text = await look(box, (pid) =>
          cgroupFile(pid, 'pids', { version1: 'pids.max', version2: 'pids.max' }),
        );
        mustEqual(text, String(ODD.processes), "the limit of the program's cgroup");
      }
      if (processes.by === 'rlimit') {
        const held = await look(box, (pid) => rlimitOf(pid, 'Max processes'));
        const count = String(ODD.processes);
        mustEqual(held, { soft: count, hard: count }, "the program's limit of processes");
      }
    },
  },
  {
    id: 'enforced-disk',
    promise: 'The disk limit in force is the size of all that the program can write to, taken together.',
    ...limit('diskMb', { diskMb: ODD.diskMb }),
    async check(context) {
      const box = await context.open();
      const { diskMb } = box.enforced.limits;
      mustEqual(diskMb.value, ODD.diskMb, 'the disk limit in force');
      if (diskMb.by !== 'tmpfs') return;
      const bytes = await box.ask<number>(
        `def blocks(folder):
    files = os.statvfs(folder)
    return files.f_blocks * files.f_frsize, files.f_bavail * files.f_frsize
def shares(one, other):
    before = blocks(other)[1]
    with open(one + '/probe', 'wb') as file: file.write(bytes(512 * 1024))
    after = blocks(other)[1]
    os.unlink(one + '/probe')
    return before - after >= 512 * 1024
counted = []
for folder in ('.', os.environ['TMPDIR'], '/dev/shm'):
    # By what it takes: a kernel may show one file system under several numbers.
    if not any(shares(earlier, folder) for earlier in counted): counted.append(folder)
print(json.dumps(sum(blocks(folder)[0] for folder in counted)))`,
      );
      mustEqual(
        bytes,
        ODD.diskMb * MIB,
        'the size of the file systems of the workspace, TMPDIR and /dev/shm',
      );
    },
  },
  {
    id: 'enforced-cpu',
    promise: 'The share of the processors in force is the one that the kernel holds.',
    ...limit('cpu', { cpu: ODD.cpu }),
    async check(context) {
      const box = await context.open();
      const { cpu } = box.enforced.limits;
      mustEqual(cpu.value, ODD.cpu, 'the share in force');
      if (!context.hostVisible || cpu.by !== 'cgroup') return;
      const cores = await look(box, (pid) => {
        const max = cgroupFile(pid, 'cpu', { version1: 'cpu.cfs_quota_us', version2: 'cpu.max' })?.split(' ');
        const period =
          max?.[1] ?? cgroupFile(pid, 'cpu', { version1: 'cpu.cfs_period_us', version2: 'cpu.max' });
        return Number(max?.[0]) / Number(period);
      });
      mustEqual(cores, ODD.cpu, "the share of the program's cgroup");
    },
  },
  {
    id: 'usage',
    promise: 'What a run is said to have used is what it used, where the runtime can tell.',
    async check(context) {
      const box = await context.open();
      const ran = await box.python(
        `import time
taken = bytearray(b'x') * (40 * 1024 * 1024)
while time.process_time() < 0.5: pass`,
      );
      mustEqual([ran.outcome, ran.exitCode], ['exited', 0], 'the end');
      const { cpuSec, peakMemoryMb } = ran;
      // A kernel of the program's own keeps its time, and counts what the host gave to others; and an interpreter that
      // waited started on nobody's time.
      const leastSec = context.hostVisible ? 0.4 : 0.03;
      must(
        cpuSec === undefined || (cpuSec >= leastSec && cpuSec < 3),
        `${cpuSec} s of processor time for about 0.5`,
      );
      must(
        peakMemoryMb === undefined || (peakMemoryMb >= 40 && peakMemoryMb < 200),
        `a peak of ${peakMemoryMb} MB for about 50`,
      );
    },
  },
];

function mustBeWhole(name: LimitName, enforced: Enforced, { limits }: Capabilities, wish: PolicyWish): void {
  const { value, by, default: isDefault } = enforced.limits[name];
  must((by === 'none') === (value === null), `${name} is ${value}, held by ${by}`);
  const asked = name === 'timeoutSec' ? undefined : wish[name];
  const mayBeAbsent = name === 'cpu' && asked === undefined;
  must(
    by === limits[name] || (mayBeAbsent && by === 'none'),
    `${name} is held by ${by} instead of ${limits[name]}`,
  );
  mustEqual(isDefault, asked === undefined, `whether ${name} is a default`);
  if (asked !== undefined) mustEqual(value, asked, name);
}

async function look<T>(box: Box, at: (pid: number) => T): Promise<T> {
  const seen = await box.watch((pid) => ({ answer: at(pid) }));
  must(seen !== undefined, 'a program that the host could see before is seen no more');
  return seen.answer;
}
