import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { evaluate } from '../../../../tests/seccomp/evaluate.ts';
import { judge } from '../../../../tests/seccomp/judge.ts';
import { SAMPLES } from '../../../../tests/seccomp/samples.ts';
import { RULES, seccompFilter } from '../../host/seccomp/filter.ts';
import { ABIS, SYSCALLS, type SyscallName } from '../../host/seccomp/syscalls.ts';
import { ALLOWED, UNAVAILABLE } from './calls.ts';
import { dockerSeccompProfile, profileForOwnKernel } from './profile.ts';

const [EPERM, ENOSYS] = [1, 38];
const HEADERS = {
  x64: '/usr/include/x86_64-linux-gnu/asm/unistd_64.h',
  arm64: '/usr/include/asm-generic/unistd.h',
} as const;
/** Since Linux 6.2, so that headers in use lack them. */
const YOUNG = [
  ...['cachestat', 'fchmodat2', 'file_getattr', 'file_setattr', 'futex_requeue', 'futex_wait', 'futex_wake'],
  ...['getxattrat', 'listmount', 'listns', 'listxattrat', 'lsm_get_self_attr', 'lsm_list_modules'],
  ...['lsm_set_self_attr', 'map_shadow_stack', 'mseal', 'open_tree_attr', 'removexattrat'],
  ...['rseq_slice_yield', 'setxattrat', 'statmount', 'uprobe', 'uretprobe'],
];

const names = Object.keys(SYSCALLS) as SyscallName[];
const judgedByArguments = RULES.flatMap(({ refuse, unless }) => (unless === undefined ? [] : refuse));

describe.each(['x64', 'arm64'] as const)('the profile for %s', (architecture) => {
  const profile = dockerSeccompProfile(architecture);
  const floor = seccompFilter(architecture) ?? new Uint8Array();
  const [first, ...others] = profile.syscalls;
  const conditional = others.slice(0, -1);
  const last = others.at(-1);
  const has = (name: SyscallName): boolean => SYSCALLS[name][architecture] !== undefined;
  const byTheFloor = (name: SyscallName, values: readonly bigint[]) =>
    evaluate(floor, {
      architecture: ABIS[architecture].auditArchitecture,
      number: SYSCALLS[name][architecture] ?? -1,
      arguments: values,
    });

  it('refuses what it does not name, and knows the native ABI alone', () => {
    const { syscalls, ...rest } = profile;
    const native = { x64: 'SCMP_ARCH_X86_64', arm64: 'SCMP_ARCH_AARCH64' }[architecture];
    expect(rest).toEqual({ defaultAction: 'SCMP_ACT_ERRNO', architectures: [native] });
    expect(judge(profile, 'no_such_call')).toBe(EPERM);
  });

  it('is a list of what is allowed, then of what depends on arguments, then of what is missing', () => {
    const sorted = (list: readonly string[] = []): string[] => [...new Set(list)].sort();
    expect(first).toEqual({ names: sorted(first?.names), action: 'SCMP_ACT_ALLOW' });
    expect(last).toEqual({ names: sorted(last?.names), action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS });
    expect(sorted(conditional.flatMap((rule) => rule.names))).toEqual(sorted(judgedByArguments));
    expect(conditional.filter((rule) => !('args' in rule))).toEqual([]);
  });

  it('judges each call in one place', () => {
    const all = [...(first?.names ?? []), ...judgedByArguments, ...(last?.names ?? [])];
    expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
  });

  it('answers as the floor does to all that the floor refuses whatever the arguments', () => {
    const fixed = names.filter((name) => has(name) && !judgedByArguments.includes(name));
    const samples = [[], Array<bigint>(6).fill(1n), Array<bigint>(6).fill(-1n)];
    const answers = (ask: (name: SyscallName, values: readonly bigint[]) => unknown) =>
      fixed.map((name) => [name, samples.map((values) => ask(name, values))]);
    expect(answers((name, values) => judge(profile, name, values))).toEqual(answers(byTheFloor));
  });

  it.each(judgedByArguments)('answers as the floor does whatever the arguments of %s', (name) => {
    const samples = SAMPLES[name] ?? [];
    const different = samples.filter((values) => judge(profile, name, values) !== byTheFloor(name, values));
    expect(different).toEqual([]);
    expect(new Set(samples.map((values) => judge(profile, name, values)))).toEqual(new Set(['allow', EPERM]));
  });

  it('has only numbers that JSON carries unharmed', () => {
    const numbers = conditional.flatMap((rule) =>
      'args' in rule ? (rule.args ?? []).flatMap(({ value, valueTwo }) => [value, valueTwo]) : [],
    );
    expect(numbers.filter((number) => !(number >= 0 && number <= 0xffffffff))).toEqual([]);
    expect(JSON.parse(JSON.stringify(profile))).toEqual(profile);
  });

  const header = HEADERS[architecture];
  const missing = !existsSync(header);
  it.skipIf(missing)(
    `has judged every call that the kernel's header names${missing ? ` (skipped: ${header} is missing)` : ''}`,
    () => {
      const defined = callsIn(header);
      const judged = [...profile.syscalls.flatMap((rule) => rule.names), ...names.filter(has)];
      expect(defined.filter((name) => !judged.includes(name))).toEqual([]);
      expect(judged.filter((name) => !defined.includes(name) && !YOUNG.includes(name))).toEqual([]);
    },
  );
});

/** The generic header also names calls of other machines, how many calls there are, and where theirs begin. */
function callsIn(header: string): string[] {
  const definitions = readFileSync(header, 'utf8').matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)$/gm);
  return Array.from(definitions, ([, name = '', number]) => ({ name, number: Number(number) }))
    .filter(({ name, number }) => (number < 403 || number > 423) && !NO_CALLS.includes(name))
    .map(({ name }) => (name === 'fstatat' ? 'newfstatat' : name));
}

const NO_CALLS = ['syscalls', 'arch_specific_syscall', 'sync_file_range2'];

it('names nothing that the floor names, so that there is one place for each decision', () => {
  const floor: readonly string[] = RULES.flatMap(({ refuse }) => refuse);
  const listed = [...ALLOWED, ...UNAVAILABLE].flatMap(({ names, onlyX64 = [] }) => [...names, ...onlyX64]);
  expect(listed.filter((name) => floor.includes(name))).toEqual([]);
});

it('refuses more than the floor only as missing, and only this', () => {
  expect(UNAVAILABLE.flatMap(({ names }) => names).sort()).toEqual([
    'cachestat',
    'file_getattr',
    'file_setattr',
    'get_robust_list',
    'inotify_add_watch',
    'inotify_rm_watch',
    'io_cancel',
    'io_destroy',
    'io_getevents',
    'io_pgetevents',
    'io_setup',
    'io_submit',
    'process_mrelease',
    'remap_file_pages',
  ]);
});

it('keeps each group in order', () => {
  const lists = [...ALLOWED, ...UNAVAILABLE].flatMap(({ names, onlyX64 = [] }) => [names, onlyX64]);
  expect(lists).toEqual(lists.map((list) => [...new Set(list)].sort()));
});

describe('the profile for a kernel in user space', () => {
  it('leaves clone3 to that kernel, and refuses all else that has to be called missing', () => {
    const profile = dockerSeccompProfile('x64');
    const own = profileForOwnKernel(profile);
    const allowed = own.syscalls.flatMap((rule) => ('args' in rule && rule.args ? [] : rule.names));
    const before = profile.syscalls.flatMap((rule) =>
      rule.action === 'SCMP_ACT_ALLOW' && !rule.args ? rule.names : [],
    );
    expect(allowed.sort()).toEqual([...before, 'clone3'].sort());
    expect(own.syscalls.every(({ action }) => action === 'SCMP_ACT_ALLOW')).toBe(true);
  });
});
