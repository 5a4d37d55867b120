/**
 * Takes each piece away that a runtime is made of, for real and for one command alone: never does anything weaker run
 * without a word. Each refusal stands beside the same command with the piece in its place.
 */
import { statSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { dockerSeccompProfile } from '../../src/runtimes/docker/seccomp/profile.ts';
import { type Finished, type Invocation, useCommand } from './support/command.ts';
import { describeWith, type Need } from './support/needs.ts';
import * as without from './support/without.ts';

const glovebox = useCommand();

type RuntimeName = 'bubblewrap' | 'gvisor' | 'docker';
type Make = () => without.Surroundings | Promise<without.Surroundings>;

interface Piece {
  /** As in "without …". */
  readonly what: string;
  /** The runtime that is asked for. */
  readonly runtime: RuntimeName;
  /** What `doctor` must call missing; the others stay. */
  readonly takes?: readonly RuntimeName[];
  readonly needs: readonly Need[];
  /** The surroundings without it. */
  readonly missing: Make;
  /** The same with it; by default those that every test has. */
  readonly present?: Make;
  readonly reason: RegExp;
  /** What repairs it. */
  readonly fix: RegExp;
  /** How long it may take to be sure, beside the command itself. */
  readonly waitsSec?: number;
}

const BUBBLEWRAP = { runtime: 'bubblewrap', needs: ['bubblewrap', 'root'] } as const;
const GVISOR = { runtime: 'gvisor', needs: ['gvisor', 'bubblewrap', 'root'] } as const;
const DOCKER = { runtime: 'docker', needs: ['docker', 'bubblewrap', 'linux'] } as const;

const START_DOCKER = /^Set SANDBOX_TYPE=local or start the Docker daemon \(systemctl start docker\)\.$/;
const NAMESPACES =
  /unprivileged_userns_clone=1.*apparmor_restrict_unprivileged_userns=0.*user\.max_user_namespaces=\d+.*systempaths=unconfined/;

const PIECES: readonly Piece[] = [
  {
    ...BUBBLEWRAP,
    what: 'bwrap',
    missing: () => without.withoutProgram('bwrap'),
    reason: /bubblewrap \(bwrap\) is not installed\.$/,
    fix: /apt-get install bubblewrap/,
  },
  {
    ...BUBBLEWRAP,
    what: 'nsenter',
    takes: ['bubblewrap', 'gvisor'],
    missing: () => without.withoutProgram('nsenter'),
    reason: /util-linux \(nsenter\) is not installed\.$/,
    fix: /apt-get install util-linux/,
  },
  {
    ...BUBBLEWRAP,
    what: 'a bwrap that runs',
    missing: () => without.withProgram(glovebox, 'bwrap', 'echo "bad ELF" >&2; exit 1'),
    reason: /bwrap does not run: it ended with 1: bad ELF\.$/,
    fix: /apt-get install --reinstall bubblewrap/,
  },
  {
    ...BUBBLEWRAP,
    what: 'a bwrap that is new enough',
    missing: () => without.withProgram(glovebox, 'bwrap', 'echo bubblewrap 0.4.1'),
    reason: /bubblewrap 0\.4\.1 is too old; 0\.8\.0 is the oldest that works\.$/,
    fix: /apt-get install bubblewrap/,
  },
  {
    ...BUBBLEWRAP,
    what: 'a bwrap that builds a sandbox',
    missing: () =>
      without.withProgram(glovebox, 'bwrap', '[ "$1" = --version ] && exec echo bubblewrap 0.8.0; exit 1'),
    reason: /bubblewrap could not hold the sandbox: .*\.$/,
    fix: NAMESPACES,
  },
  {
    ...BUBBLEWRAP,
    what: 'user namespaces, which root may not make in a chroot',
    takes: ['bubblewrap', 'gvisor'],
    missing: () => without.IN_A_CHROOT,
    reason: /bubblewrap could not hold the sandbox: .*user namespaces.*\.$/,
    fix: NAMESPACES,
  },
  {
    ...BUBBLEWRAP,
    what: 'user namespaces, which an ordinary user may not make in a chroot',
    takes: ['bubblewrap', 'gvisor', 'docker'],
    missing: () => without.asOrdinaryUserInAChroot(glovebox),
    present: () => without.asOrdinaryUser(glovebox),
    reason: /Namespaces cannot be made here: .*Operation not permitted\.$/,
    fix: NAMESPACES,
  },
  {
    ...BUBBLEWRAP,
    what: 'user namespaces, of which an ordinary user may make none',
    takes: ['bubblewrap', 'gvisor', 'docker'],
    missing: () => without.asOrdinaryUserWhoMayMakeNoMore(glovebox),
    present: () => without.asOrdinaryUser(glovebox),
    reason: /Namespaces cannot be made here: .*No space left on device\.$/,
    fix: NAMESPACES,
  },
  {
    ...BUBBLEWRAP,
    what: 'any user but root',
    takes: ['bubblewrap', 'gvisor'],
    missing: () => without.ROOT_OF_A_USER_NAMESPACE,
    reason: /Nothing can be given to user \d+ here: .*\.$/,
    fix: /map a whole range of user ids, or run as an ordinary user\.$/,
  },
  {
    ...BUBBLEWRAP,
    what: 'a seccomp filter for the processor',
    takes: ['bubblewrap', 'gvisor'],
    missing: () => without.ON_ANOTHER_PROCESSOR,
    reason: /There is no seccomp filter for riscv64 yet\.$/,
    fix: /^Use a machine with x64 or arm64\.$/,
  },
  {
    ...GVISOR,
    what: 'a seccomp filter for the processor',
    takes: ['bubblewrap', 'gvisor'],
    missing: () => without.ON_ANOTHER_PROCESSOR,
    reason: /gVisor is not used on riscv64 yet\.$/,
    fix: /^Use a machine with x64 or arm64\.$/,
  },
  {
    ...GVISOR,
    what: 'runsc',
    missing: () => without.withoutProgram('runsc'),
    reason: /runsc is not installed\.$/,
    fix: /apt-get install runsc.*gvisor\.dev/,
  },
  {
    ...GVISOR,
    what: 'setpriv',
    missing: () => without.withoutProgram('setpriv'),
    reason: /util-linux \(setpriv\) is not installed\.$/,
    fix: /apt-get install util-linux/,
  },
  {
    ...GVISOR,
    what: 'a runsc that runs',
    missing: () => without.withProgram(glovebox, 'runsc', 'echo "bad ELF" >&2; exit 1'),
    reason: /runsc does not run: it ended with 1: bad ELF\.$/,
    fix: /apt-get install runsc.*gvisor\.dev/,
  },
  {
    ...GVISOR,
    what: 'a runsc that answers',
    missing: () => without.withProgram(glovebox, 'runsc', 'exec sleep 60'),
    reason: /runsc does not run: it has not answered within 10 s\.$/,
    fix: /apt-get install runsc.*gvisor\.dev/,
    waitsSec: 10,
  },
  {
    ...GVISOR,
    what: 'a platform that runsc can use',
    missing: () =>
      without.withProgram(
        glovebox,
        'runsc',
        'case "$*" in --version) echo runsc version release-20260101.0;; *platforms*) echo kvm;; esac',
      ),
    reason: /runsc release-20260101\.0 has no platform that works here: it offers kvm\.$/,
    fix: /apt-get install runsc.*gvisor\.dev/,
  },
  {
    ...GVISOR,
    what: 'a platform that works',
    missing: () =>
      without.withProgram(
        glovebox,
        'runsc',
        'case "$*" in --version) echo runsc version release-20260101.0;; "help platforms") echo systrap;; flags) ;; *) exit 1;; esac',
      ),
    reason: /gVisor could not hold the sandbox: .*\.$/,
    fix: /runsc --network=none do true/,
  },
  {
    ...GVISOR,
    what: 'root',
    takes: ['gvisor', 'docker'],
    missing: () => without.asOrdinaryUser(glovebox),
    reason: /Only root can use it: .*\.$/,
    fix: /^Run as root, or use the runtime "bubblewrap"\.$/,
  },
  {
    ...GVISOR,
    what: 'the runtime of its engine',
    takes: ['docker', 'gvisor'],
    needs: ['docker', 'gvisor', 'bubblewrap', 'root'],
    missing: () => ({ env: { DOCKER_RUNTIME: 'runsc-of-another-machine' } }),
    reason: /Docker has no runtime called "runsc-of-another-machine" \(DOCKER_RUNTIME\); it has .*runc.*\.$/,
    fix: /apt-get install runsc.*\/etc\/docker\/daemon\.json and restart the daemon\.$/,
  },
  {
    ...DOCKER,
    what: 'the runtime that is wanted of it',
    missing: () => ({ env: { DOCKER_RUNTIME: 'crun-of-another-machine' } }),
    present: () => ({ env: { DOCKER_RUNTIME: 'runc' } }),
    reason: /Docker has no runtime called "crun-of-another-machine" \(DOCKER_RUNTIME\); it has .*runc.*\.$/,
    fix: /\/etc\/docker\/daemon\.json and restart the daemon, or unset DOCKER_RUNTIME\.$/,
  },
  {
    ...DOCKER,
    what: 'the socket of its daemon',
    missing: () => ({ env: { DOCKER_HOST: 'unix:///no/such.sock' } }),
    reason: /Docker daemon not available: there is no unix:\/\/\/no\/such\.sock \(DOCKER_HOST\)\.$/,
    fix: START_DOCKER,
  },
  {
    ...DOCKER,
    what: 'anybody who listens at its socket',
    missing: () => without.abandonedSocket(glovebox),
    reason: /Docker daemon not available: nobody listens at unix:.*\.left \(DOCKER_HOST\)\.$/,
    fix: START_DOCKER,
  },
  {
    ...DOCKER,
    what: 'anybody who listens at its port',
    missing: () => ({ env: { DOCKER_HOST: 'tcp://127.0.0.1:1' } }),
    reason: /Docker daemon not available: nobody listens at tcp:\/\/127\.0\.0\.1:1 \(DOCKER_HOST\)\.$/,
    fix: START_DOCKER,
  },
  {
    ...DOCKER,
    what: 'an answer of its daemon',
    missing: () => without.muteEngine(glovebox),
    reason:
      /Docker daemon not available: unix:.*mute\.sock \(DOCKER_HOST\) does not answer: .* within 5 s\.$/,
    fix: /^Set SANDBOX_TYPE=local or restart the Docker daemon \(systemctl restart docker\)\.$/,
    waitsSec: 5,
  },
  {
    ...DOCKER,
    what: 'a daemon that is well',
    missing: () => without.failingEngine(glovebox),
    reason: /Docker daemon not available: unix:.*failing\.sock \(DOCKER_HOST\) says: .*out of order\.$/,
    fix: START_DOCKER,
  },
  {
    ...DOCKER,
    what: 'the permission to use its socket',
    takes: ['docker', 'gvisor'],
    needs: ['docker', 'bubblewrap', 'root'],
    missing: () => without.asOrdinaryUser(glovebox),
    present: () => without.asOrdinaryUser(glovebox, [statSync('/var/run/docker.sock').gid]),
    reason: /Docker daemon not available: this user may not use unix:\/\/\/var\/run\/docker\.sock \(.*\)\.$/,
    fix: /sudo usermod -aG docker "\$USER"/,
  },
  {
    ...DOCKER,
    what: 'its image',
    missing: () => ({ env: { DOCKER_IMAGE: 'no-such-image:of-glovebox' } }),
    reason: /There is no image no-such-image:of-glovebox on this engine, and nothing is pulled silently\.$/,
    fix: /^Run: docker pull no-such-image:of-glovebox$/,
  },
];

let dispose: (() => Promise<void>) | undefined;
afterEach(async () => {
  await dispose?.();
  dispose = undefined;
});

async function enter(make: Make): Promise<Invocation> {
  const { dispose: end, ...invocation } = await make();
  dispose = end;
  return invocation;
}

const RUN = ['run', '--json', '-c', 'print("ran")'];

async function run(
  surroundings: Invocation,
  env: Readonly<Record<string, string>>,
  args = RUN,
): Promise<Finished> {
  return glovebox.run(args, {
    ...surroundings,
    env: { ...imageOfTheseTests(), ...env, ...surroundings.env },
  });
}

/** The image that the machine's engine has. */
function imageOfTheseTests(): Record<string, string> {
  const { DOCKER_IMAGE } = process.env;
  return DOCKER_IMAGE === undefined ? {} : { DOCKER_IMAGE };
}

describe.each(PIECES)('$runtime without $what', (piece) => {
  const { runtime, takes = [runtime], missing, present = () => ({}), reason, fix, waitsSec = 0 } = piece;

  describeWith(piece.needs, 'refuses or says so', () => {
    it('runs with it', async () => {
      const { status, stdout } = await run(await enter(present), { SANDBOX_TYPE: runtime });
      const result = JSON.parse(stdout);
      expect({ status, printed: result.stdout, runtime: result.meta?.runtime }).toEqual({
        ...{ status: 0, printed: 'ran\n', runtime },
      });
    });

    it('is refused with the reason and the fix; without an engine in under a second', async () => {
      const surroundings = await enter(missing);
      const { seconds: least } = await run(surroundings, {}, ['--version']);
      const { status, stdout, stderr, seconds } = await run(surroundings, { SANDBOX_TYPE: runtime });
      expect({ status, stderr }).toEqual({ status: 125, stderr: '' });
      expectRefusal(stdout, 'RUNTIME_UNAVAILABLE', [reason], [fix]);
      // A busy machine takes longer than that for the command alone.
      if (runtime === 'docker') expect(seconds - waitsSec).toBeLessThan(Math.max(1, 6 * least));
    });

    it('is refused in one sentence and one hint for a person', async () => {
      const { status, stdout, stderr } = await run(await enter(missing), { SANDBOX_TYPE: runtime }, [
        ...['run', '-c', 'print("ran")'],
      ]);
      expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
      expect(stderr).toMatch(/^glovebox: The runtime [^\n]+\.\n {2}[^\n]+\n$/);
    });

    it('gives way to the fallback that is configured, and the result says so', async () => {
      const env = { SANDBOX_TYPE: runtime, SANDBOX_FALLBACK: 'local' };
      const { status, stdout, stderr } = await run(await enter(missing), env);
      const { stdout: printed, meta } = JSON.parse(stdout);
      expect({ status, printed }).toEqual({ status: 0, printed: 'ran\n' });
      const isolation = takes.includes('bubblewrap') ? 'process' : 'namespace';
      expect(meta).toMatchObject({ runtime: 'local', fallback_from: runtime, enforced: { isolation } });
      const [warning = '', ...others] = meta.warnings as string[];
      const [because = ''] = warning.split(' The configured fallback "local" was used.');
      expect(because).toMatch(reason);
      expect(warning).toMatch(/ The configured fallback "local" was used\.$/);
      expect(others.join(' ')).toMatch(isolation === 'process' ? /plain process, not held/ : /^$/);
      expect(stderr).toContain('The configured fallback "local" was used.');
    });

    it('does not give way to less than the minimum isolation, and both reasons are told', async () => {
      const env = { SANDBOX_TYPE: runtime, SANDBOX_FALLBACK: 'local', SANDBOX_MIN_ISOLATION: 'container' };
      const { status, stdout } = await run(await enter(missing), env);
      expect(status).toBe(125);
      const both = [
        new RegExp(reason.source.replace(/\$$/, '')),
        /The configured fallback cannot take its place: .*isolation of at least "container"/,
      ];
      const fixes = [new RegExp(fix.source.replace(/\$$/, '')), /SANDBOX_TYPE=docker/];
      expectRefusal(stdout, 'POLICY_NOT_ENFORCEABLE', both, fixes);
    });

    it('is named by a doctor who goes on with the others', async () => {
      const { status, stdout, stderr } = await run(await enter(missing), {}, ['doctor', '--json']);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      const { runtimes } = JSON.parse(stdout) as { runtimes: Examined[] };
      const named = runtimes.find(({ name }) => name === runtime);
      expect(named).toEqual({
        ...{ name: runtime, available: false },
        reason: expect.stringMatching(reason),
        fix: expect.stringMatching(fix),
      });
      expect(runtimes.map(({ name }) => name)).toEqual(['local', 'bubblewrap', 'docker', 'gvisor']);
      // Another engine than the taken one may be absent from this machine besides.
      const still = runtimes.filter(({ available }) => available).map(({ name }) => name);
      expect(still).toContain('local');
      expect(takes.filter((name) => still.includes(name))).toEqual([]);
      if (!takes.includes('bubblewrap')) expect(still).toContain('bubblewrap');
      for (const { available, reason, fix } of runtimes) if (!available) expectSentences(reason, fix);
    });

    if (runtime === 'bubblewrap') {
      it('makes local a plain process that says why, unless a minimum isolation forbids that', async () => {
        const surroundings = await enter(missing);
        const plain = await run(surroundings, {});
        const { meta } = JSON.parse(plain.stdout);
        expect({ status: plain.status, isolation: meta.enforced.isolation }).toEqual({
          ...{ status: 0, isolation: 'process' },
        });
        expect(meta.warnings).toEqual([expect.stringMatching(inside(reason))]);
        const refused = await run(surroundings, { SANDBOX_MIN_ISOLATION: 'namespace' });
        expect(refused.status).toBe(125);
        expectRefusal(
          refused.stdout,
          'POLICY_NOT_ENFORCEABLE',
          [/isolation of at least "namespace" \(it gives "process"\)/, inside(reason)],
          [/bubblewrap/],
        );
      });
    }
  });
});

/** The same in the middle of a text, where it may begin with a capital. */
function inside(reason: RegExp): RegExp {
  return new RegExp(reason.source.replace(/\$$/, ''), 'i');
}

interface Examined {
  readonly name: string;
  readonly available: boolean;
  readonly reason?: string;
  readonly fix?: string;
}

function expectRefusal(
  stdout: string,
  code: string,
  reasons: readonly RegExp[],
  fixes: readonly RegExp[],
): void {
  const { error, ...others } = JSON.parse(stdout);
  expect(others).toEqual({});
  expect(error).toEqual({
    code,
    message: expect.any(String),
    hint: expect.any(String),
    details: expect.any(Object),
  });
  for (const reason of reasons) expect(error.message).toMatch(reason);
  for (const fix of fixes) expect(error.hint).toMatch(fix);
  expectSentences(error.message, error.hint);
  expect(stdout).not.toContain('"stack"');
}

/** A reason is one line and ends as a sentence; what to do ends as one too, or with a command to copy. */
function expectSentences(reason = '', fix = ''): void {
  expect(reason).toMatch(/^[^\n]+\.$/);
  expect(fix).toMatch(/^(?=[A-Z])[^\n]*(\.|\bRun: [^\n]+)$/);
}

describeWith(['docker', 'bubblewrap'], 'docker without a seccomp profile that was named', () => {
  const PROFILES: readonly (readonly [string, string | undefined, RegExp])[] = [
    ['is not there', undefined, /profile\.json \(DOCKER_SECCOMP_PROFILE\) does not exist\.$/],
    ['is broken', '{', /profile\.json \(DOCKER_SECCOMP_PROFILE\) is no seccomp profile: .*\.$/],
    ['says nothing', '{}', /is no seccomp profile: it has no "defaultAction"\.$/],
  ];
  const profile = (text: string | undefined): string => {
    const path = `${glovebox.folder}/profile.json`;
    return text === undefined ? path : glovebox.file(path, text);
  };

  it('runs with one that is well', async () => {
    const architecture = process.arch === 'arm64' ? 'arm64' : 'x64';
    const DOCKER_SECCOMP_PROFILE = profile(JSON.stringify(dockerSeccompProfile(architecture)));
    const { status, stdout } = await run({}, { SANDBOX_TYPE: 'docker', DOCKER_SECCOMP_PROFILE });
    expect({ status, seccomp: JSON.parse(stdout).meta?.enforced.seccomp }).toEqual({
      status: 0,
      seccomp: true,
    });
  });

  it.each(PROFILES)(
    'refuses one that %s, and takes no fallback for a wrong setting',
    async (_, text, reason) => {
      for (const fallback of [{}, { SANDBOX_FALLBACK: 'local' }]) {
        const { status, stdout } = await run(
          {},
          { SANDBOX_TYPE: 'docker', DOCKER_SECCOMP_PROFILE: profile(text), ...fallback },
        );
        expect(status).toBe(125);
        expectRefusal(stdout, 'CONFIG_INVALID', [reason], [/unset DOCKER_SECCOMP_PROFILE/]);
      }
    },
  );

  it.each(PROFILES)('has a doctor who names one that %s', async (_, text, reason) => {
    const env = { DOCKER_SECCOMP_PROFILE: profile(text) };
    const { status, stdout } = await run({}, env, ['doctor', '--json']);
    const { runtimes } = JSON.parse(stdout) as { runtimes: Examined[] };
    expect(status).toBe(0);
    expect(runtimes.find(({ name }) => name === 'docker')).toEqual({
      ...{ name: 'docker', available: false },
      reason: expect.stringMatching(reason),
      fix: expect.stringMatching(/unset DOCKER_SECCOMP_PROFILE/),
    });
    expect(runtimes.find(({ name }) => name === 'bubblewrap')).toMatchObject({ available: true });
  });
});

describeWith(['docker'], 'docker without its image', () => {
  it('asks its engine for it, and to bring nothing', async () => {
    const engine = await without.watchedEngine(glovebox);
    dispose = engine.dispose;
    const { status } = await run(engine, {
      SANDBOX_TYPE: 'docker',
      DOCKER_IMAGE: 'no-such-image:of-glovebox',
    });
    expect(status).toBe(125);
    expect(
      engine.asked().filter((line) => /^GET .*\/images\/no-such-image%3Aof-glovebox\/json /.test(line)),
    ).toHaveLength(1);
    expect(engine.asked().filter((line) => !line.startsWith('GET '))).toEqual([]);
  });

  it('would be seen to ask for more', async () => {
    const engine = await without.watchedEngine(glovebox);
    dispose = engine.dispose;
    const { status } = await run(engine, { SANDBOX_TYPE: 'docker' });
    expect(status).toBe(0);
    expect(engine.asked().filter((line) => /^POST .*\/containers\/create/.test(line)).length).toBeGreaterThan(
      0,
    );
  });
});

describe.each([
  ['bubblewrap', { memory_mb: 'rlimit', processes: 'rlimit', cpu: 'none' }],
  ['gvisor', { memory_mb: 'none', processes: 'rlimit', cpu: 'none' }],
] as const)('%s without cgroups', (runtime, holders) => {
  const needs: Need[] = runtime === 'gvisor' ? ['gvisor', 'bubblewrap'] : ['bubblewrap'];
  describeWith([...needs, 'root', 'cgroups'], 'says what it does not hold', () => {
    const READ_ONLY = without.WITH_READ_ONLY_CGROUPS;
    const env = { SANDBOX_TYPE: runtime };

    it('has by rlimit, or not at all, the defaults that it has by cgroup otherwise', async () => {
      for (const [surroundings, by] of [
        [{}, { memory_mb: 'cgroup' }],
        [READ_ONLY, holders],
      ] as const) {
        const { status, stdout } = await run(surroundings, env);
        const { limits } = JSON.parse(stdout).meta.enforced;
        const held = Object.fromEntries(Object.keys(by).map((name) => [name, limits[name].by]));
        expect({ status, held }).toEqual({ status: 0, held: by });
        for (const { value, by } of Object.values<{ value: number | null; by: string }>(limits)) {
          expect(value === null).toBe(by === 'none');
        }
      }
    });

    it.each([
      ['cpu', ['--json'], { SANDBOX_CPU_LIMIT: '0.5' }],
      ['memoryMb', ['--json', '--memory-mb', '100'], {}],
    ] as const)(
      'refuses the limit %s that was asked for, where nobody holds it',
      async (name, args, limit) => {
        const ask = (surroundings: Invocation, more: Record<string, string> = {}) =>
          run(surroundings, { ...env, ...limit, ...more }, ['run', ...args, '-c', 'print("ran")']);
        const holder = holders[name === 'cpu' ? 'cpu' : 'memory_mb'];
        const [withThem, withoutThem] = [await ask({}), await ask(READ_ONLY)];
        expect(JSON.parse(withThem.stdout).stdout).toBe('ran\n');
        if (holder === 'none') {
          expect(withoutThem.status).toBe(125);
          const reasons = [new RegExp(`cannot hold here: the limit ${name} of `)];
          expectRefusal(withoutThem.stdout, 'POLICY_NOT_ENFORCEABLE', reasons, [/cgroup.*is writable/]);
          // The runtime is there: a fallback is for one that is not.
          const { stdout } = await ask(READ_ONLY, { SANDBOX_FALLBACK: 'local' });
          expectRefusal(stdout, 'POLICY_NOT_ENFORCEABLE', reasons, [/cgroup.*is writable/]);
        } else {
          const { limits } = JSON.parse(withoutThem.stdout).meta.enforced;
          expect(limits.memory_mb).toEqual({ value: 100, by: holder, default: false });
        }
      },
    );

    it('has a doctor who says what is held by whom, and what to do', async () => {
      const { status, stdout } = await run(READ_ONLY, {}, ['doctor', '--json']);
      const { runtimes } = JSON.parse(stdout) as { runtimes: { name: string }[] };
      expect(status).toBe(0);
      expect(runtimes.find(({ name }) => name === runtime)).toMatchObject({
        available: true,
        limits: holders,
        about: expect.arrayContaining([
          expect.stringMatching(
            /^No cgroup can be written here.*mounted read-only.*docker run --memory.*\.$/,
          ),
        ]),
      });
    });
  });
});
