import type { DockerSeccompProfile } from '../../src/runtimes/docker/seccomp/profile.ts';

/** The engine's side of a seccomp profile, as the format is documented: 'allow' or the number of an error. */
export function judge(
  profile: DockerSeccompProfile,
  name: string,
  values: readonly bigint[] = [],
): 'allow' | number {
  const EPERM = 1;
  const rule = profile.syscalls.find((rule) => {
    if (!rule.names.includes(name)) return false;
    const comparisons = 'args' in rule ? (rule.args ?? []) : [];
    return comparisons.every(({ index, value, valueTwo }) => {
      const given = BigInt.asUintN(64, values[index] ?? 0n);
      return (given & BigInt(value)) === BigInt(valueTwo);
    });
  });
  if (rule === undefined) return EPERM;
  return rule.action === 'SCMP_ACT_ALLOW' ? 'allow' : rule.errnoRet;
}
