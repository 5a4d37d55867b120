import { RULES, type Rule } from '../../host/seccomp/filter.ts';
import { SYSCALLS } from '../../host/seccomp/syscalls.ts';
import { ALLOWED, type Calls, UNAVAILABLE } from './calls.ts';
import { comparisons, type DockerSeccompArgument } from './conditions.ts';

/** One entry of `syscalls`: rules for the same call are OR-ed. */
export type DockerSeccompRule = { readonly names: readonly string[] } & (
  | { readonly action: 'SCMP_ACT_ALLOW'; readonly args?: readonly DockerSeccompArgument[] }
  | { readonly action: 'SCMP_ACT_ERRNO'; readonly errnoRet: number }
);

/** What `--security-opt seccomp=FILE` reads, and the engine's API after `seccomp=` as JSON. */
export interface DockerSeccompProfile {
  /** EPERM, which engines take where none is named; Docker 20.10 can name no other. */
  readonly defaultAction: 'SCMP_ACT_ERRNO';
  readonly architectures: readonly string[];
  readonly syscalls: readonly DockerSeccompRule[];
}

/** The native ABI alone: a call through any other kills the program. */
const ARCHITECTURES = { x64: 'SCMP_ARCH_X86_64', arm64: 'SCMP_ARCH_AARCH64' } as const;

const ENOSYS = 38;

/**
 * The seccomp profile for containers on an engine of this architecture: allows what ordinary programs need,
 * and nothing that the filter of the host's own runtimes refuses. What it judges by arguments, and what it
 * calls missing, is taken from there, so that a program gets the same answers from both.
 *
 * Engines leave out names that they do not know yet. runc answers calls newer than all that it does know with
 * ENOSYS, of its own accord.
 */
export function dockerSeccompProfile(architecture: 'x64' | 'arm64'): DockerSeccompProfile {
  const namesOf = (groups: readonly Calls[]): string[] =>
    groups.flatMap(({ names, onlyX64 = [] }) => [...names, ...(architecture === 'x64' ? onlyX64 : [])]);
  const refusedBy = ({ refuse }: Rule): string[] =>
    refuse.filter((name) => SYSCALLS[name][architecture] !== undefined);

  const missing = RULES.filter(({ error }) => error === 'ENOSYS').flatMap(refusedBy);
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    architectures: [ARCHITECTURES[architecture]],
    syscalls: [
      { names: namesOf(ALLOWED).sort(), action: 'SCMP_ACT_ALLOW' },
      ...RULES.flatMap((rule) => allowedByArguments(refusedBy(rule), rule.unless ?? [])),
      { names: [...namesOf(UNAVAILABLE), ...missing].sort(), action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    ],
  };
}

/**
 * The same for a kernel in user space, where a refusal is always EPERM (gVisor with `--oci-seccomp`). `clone3`, without
 * which libc starts threads only when it is called missing, is left to that kernel, which has it or says that it has
 * not; a namespace that it makes is one of its own. Pure.
 */
export function profileForOwnKernel(profile: DockerSeccompProfile): DockerSeccompProfile {
  return {
    ...profile,
    syscalls: profile.syscalls.map((rule) =>
      rule.action === 'SCMP_ACT_ERRNO' ? { names: ['clone3'], action: 'SCMP_ACT_ALLOW' } : rule,
    ),
  };
}

function allowedByArguments(
  names: readonly string[],
  unless: NonNullable<Rule['unless']>,
): DockerSeccompRule[] {
  return unless
    .flatMap((conditions) => comparisons(conditions))
    .map((args) => ({ names, action: 'SCMP_ACT_ALLOW', args }));
}
