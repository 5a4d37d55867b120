import { isAtLeast } from '../../policy/isolation.ts';
import { LIMIT_NAMES, type LimitName } from '../../policy/policy.ts';
import type { Capabilities } from '../../runtimes/runtime.ts';
import { type Box, describeEnd, type Ran } from '../box.ts';
import type { Clause, ClauseContext } from '../clause.ts';
import { must, mustEqual, shown } from '../expectations.ts';
import type { PolicyWish } from '../wish.ts';

const MEMORY_MB = 64;
const PROCESSES = 12;
const DISK_MB = 8;
/** So little that a busy host gives more to whoever is not held. */
const CORES = 0.2;

/** What a clause about a limit says of itself. */
function limit<Wish extends PolicyWish>(name: LimitName, asks: Wish) {
  return { claimedBy: ({ limits }: Capabilities): boolean => limits[name] !== 'none', asks };
}

export const LIMITS_CLAUSES: readonly Clause[] = [
  {
    id: 'memory',
    promise: 'A program that takes more memory than its limit gets none, by an error or by its end.',
    ...limit('memoryMb', { memoryMb: MEMORY_MB }),
    async check(context) {
      const box = await context.open();
      const little = await takeMemory(box, MEMORY_MB / 4);
      mustEqual(
        [little.exitCode, little.stdout],
        [0, 'took it\n'],
        `the end of a quarter (${describeEnd(little)})`,
      );
      const much = await takeMemory(box, MEMORY_MB * 4);
      const refused = much.outcome === 'exited' && much.exitCode === 1 && /MemoryError/.test(much.stderr);
      const killed = much.outcome === 'out_of_memory' && much.exitCode === 137;
      must(
        (refused || killed) && !much.stdout.includes('took it'),
        `taking ${MEMORY_MB * 4} MB ended with ${describeEnd(much)}, ${shown(much.stdout)}`,
      );
    },
  },
  {
    id: 'memory-of-a-child',
    promise:
      'When a child takes too much memory, the program itself goes on and its own end is the result; where its own kernel ends with it, that is named.',
    ...limit('memoryMb', { memoryMb: MEMORY_MB }),
    async check(context) {
      const box = await context.open();
      const ran = await box.python(
        `import os, sys
child = os.fork()
if child == 0:
    try: bytearray(b'x') * (${MEMORY_MB * 4} * 1024 * 1024)
    except MemoryError: os._exit(1)
    os._exit(0)
print({0: 'succeeded', 1: 'was refused', -9: 'was killed'}.get(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
sys.exit(5)`,
      );
      if (isAtLeast(box.enforced.isolation, 'kernel') && ran.outcome === 'out_of_memory') {
        mustEqual([ran.exitCode, ran.stdout], [137, ''], 'the end');
        must((ran.oomKills ?? 0) > 0, 'nobody counted that the kernel was killed');
        return;
      }
      mustEqual([ran.outcome, ran.exitCode], ['exited', 5], `the end (${describeEnd(ran)})`);
      must(/^was (refused|killed)$/m.test(ran.stdout), `the child ${ran.stdout.trim()}`);
      if (ran.stdout.includes('killed'))
        must((ran.oomKills ?? 0) > 0, 'nobody counted that a child was killed');
    },
  },
  {
    id: 'processes',
    promise: 'A program cannot have more processes than its limit, and learns so by an error.',
    ...limit('processes', { processes: PROCESSES }),
    async check(context) {
      const box = await context.open();
      const { made, error } = await box.ask<{ made: number; error: string | null }>(
        `import errno
reader, writer = os.pipe()
made, error = 0, None
for _ in range(${PROCESSES * 4}):
    try: child = os.fork()
    except OSError as problem:
        error = errno.errorcode[problem.errno]
        break
    if child == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    made += 1
os.close(writer)
for _ in range(made): os.wait()
print(json.dumps({'made': made, 'error': error}))`,
      );
      must(made < PROCESSES, `${made} children could be made with a limit of ${PROCESSES}`);
      must(made >= 2, `only ${made} children could be made with a limit of ${PROCESSES}`);
      mustEqual(error, 'EAGAIN', 'the error of the fork that failed');
    },
  },
  {
    id: 'disk',
    promise: 'The workspace and the temporary folder share the disk limit: a full disk is ENOSPC and no end.',
    ...limit('diskMb', { diskMb: DISK_MB }),
    async check(context) {
      const box = await context.open();
      const seen = await box.ask<{
        half: [number, string | null];
        rest: [number, string | null];
        again: boolean;
      }>(
        `import errno
def fill(path, megabytes):
    written = 0
    with open(path, 'wb', buffering=0) as file:
        while written < megabytes * 1024 * 1024:
            try: written += file.write(b'x' * 65536)
            except OSError as problem: return written, errno.errorcode[problem.errno]
    return written, None
half = fill('half', ${DISK_MB / 2})
rest = fill('/tmp/rest', ${DISK_MB * 2})
os.unlink('half')
again = fill('again', 1)[1] is None
os.unlink('/tmp/rest')
print(json.dumps({'half': half, 'rest': rest, 'again': again}))`,
      );
      mustEqual(seen.half, [(DISK_MB / 2) * 1024 ** 2, null], 'what could be written of half the limit');
      mustEqual(seen.rest[1], 'ENOSPC', `the error after ${seen.rest[0]} bytes more`);
      must(
        seen.rest[0] <= (DISK_MB / 2) * 1024 ** 2,
        `${seen.rest[0]} bytes more than half of ${DISK_MB} MB could be written`,
      );
      mustEqual(seen.again, true, 'whether there is room again after removing');
    },
  },
  {
    id: 'cpu',
    promise: 'All processes of a program together get no more of the processors than their share.',
    ...limit('cpu', { cpu: CORES }),
    async check(context) {
      if (!context.hostVisible) return mustGetLess(context);
      const box = await context.open();
      const cores = await box.ask<number>(
        `import resource, time
start = time.monotonic()
children = []
for _ in range(6):
    child = os.fork()
    if child == 0:
        while time.monotonic() < start + 1.5: pass
        os._exit(0)
    children.append(child)
for child in children: os.waitpid(child, 0)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps((used.ru_utime + used.ru_stime) / (time.monotonic() - start)))`,
      );
      must(cores <= CORES * 1.5, `${cores.toFixed(2)} cores were used with a limit of ${CORES}`);
    },
  },
  {
    id: 'open-files',
    promise: 'A program can hold open some thousands of files at most, and cannot raise that.',
    async check(context) {
      const box = await context.open();
      const [soft, hard] = await box.ask<[number, number]>(
        'import resource; print(json.dumps(resource.getrlimit(resource.RLIMIT_NOFILE)))',
      );
      must(
        soft > 16 && soft <= 16384 && hard > 0 && hard <= 16384,
        `the limit of open files is ${soft}, and can be raised to ${hard}`,
      );
    },
  },
  {
    id: 'no-core-dumps',
    promise: 'A program that crashes leaves no core file.',
    async check(context) {
      const box = await context.open();
      const bytes = await box.ask<number[]>(
        'import resource; print(json.dumps(resource.getrlimit(resource.RLIMIT_CORE)))',
      );
      mustEqual(bytes, [0, 0], 'how large a core file may be, and may be made,');
      const ran = await box.python('import os; os.abort()');
      mustEqual(
        [ran.outcome, ran.exitCode, ran.signal],
        ['killed', 134, 6],
        'the end of a program that aborts',
      );
      mustEqual(
        (await box.listFiles()).map(({ name }) => name),
        ['main.py'],
        'the workspace',
      );
    },
  },
  {
    id: 'limits-required',
    promise: 'A limit that is required is held, or refused with the reason.',
    claimedBy: ({ limits }) => LIMIT_NAMES.every((name) => limits[name] !== 'none'),
    asks: {
      memoryMb: 100,
      diskMb: 10,
      processes: 20,
      cpu: 1,
      requires: { limits: LIMIT_NAMES },
    },
    async check(context) {
      const { enforced } = await context.open();
      mustEqual(
        LIMIT_NAMES.map((name) => enforced.limits[name].value),
        [100, 10, 20, 1, 20],
        `the list of values of ${LIMIT_NAMES.join(', ')}`,
      );
    },
  },
];

/** How much of the work of a program that is not held one may do that is, on however few processors. */
const LESS = 0.5;

/**
 * A kernel of the program's own may count time that it was not given. What the runtime counts is held to the
 * truth by the clause about usage; where it counts nothing, what was done meanwhile tells.
 */
async function mustGetLess(context: ClauseContext): Promise<void> {
  // Without a word it has a default, which on a busy machine nobody reaches.
  const [held, free] = await Promise.all([context.open(), context.open({ cpu: 1 })]);
  const [less, more] = await Promise.all([work(held), work(free)]);
  const { cpuSec, tookSec } = less.ran;
  if (cpuSec === undefined) {
    must(less.turns <= more.turns * LESS, `it did ${less.turns} turns held, and ${more.turns} not held`);
    return;
  }
  const cores = cpuSec / tookSec;
  must(cores <= CORES * 1.5, `${cores.toFixed(2)} cores were used with a limit of ${CORES}`);
}

async function work(box: Box): Promise<{ readonly turns: number; readonly ran: Ran }> {
  const ran = await box.python(
    `import os, time
reader, writer = os.pipe()
deadline = time.monotonic() + 2
for _ in range(6):
    if os.fork() == 0:
        done = 0
        while time.monotonic() < deadline: done += 1
        os.write(writer, (str(done) + ' ').encode())
        os._exit(0)
os.close(writer)
for _ in range(6): os.wait()
print(sum(map(int, os.read(reader, 1000).split())))`,
  );
  must(
    ran.outcome === 'exited' && ran.exitCode === 0,
    `the program that works ended with ${describeEnd(ran)}`,
  );
  return { turns: Number(ran.stdout), ran };
}

function takeMemory(box: Box, megabytes: number): Promise<Ran> {
  return box.python(
    `import sys
taken = bytearray(b'x') * (int(sys.argv[1]) * 1024 * 1024)
print('took it')`,
    { args: [String(megabytes)] },
  );
}
