import { SandboxError } from '../errors.ts';
import type { ProgramLimits } from '../runtimes/runtime.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { LiveRunOptions } from './options.ts';

/** The options that lower a limit of the sandbox for one program. */
const OPTIONS = { memoryMb: 'maxMemoryMb', processes: 'maxProcesses' } as const;

/** What one program may use where that is less than what its sandbox may; more is cut to that, and said. */
export function lowerLimits(
  { policy, enforced, runtime }: Pick<Sandbox, 'policy' | 'enforced' | 'runtime'>,
  options: Pick<LiveRunOptions, 'maxMemoryMb' | 'maxProcesses'>,
): { readonly limits?: ProgramLimits; readonly warnings: readonly string[] } {
  const limits: { -readonly [Name in keyof ProgramLimits]: ProgramLimits[Name] } = {};
  const warnings: string[] = [];
  for (const name of Object.keys(OPTIONS) as (keyof typeof OPTIONS)[]) {
    const option = OPTIONS[name];
    const asked = options[option];
    if (asked === undefined) continue;
    if (enforced.limits[name].by === 'none') throw notHeld(runtime, option, asked);
    const most = policy.limits[name].value;
    if (asked > most) {
      warnings.push(`${option} of ${asked} was cut to ${most}, which is what the sandbox was made with.`);
    }
    if (asked < most) limits[name] = asked;
  }
  return { ...(Object.keys(limits).length === 0 ? {} : { limits }), warnings };
}

function notHeld(runtime: string, option: string, asked: number): SandboxError {
  return new SandboxError(
    'POLICY_NOT_ENFORCEABLE',
    `The runtime "${runtime}" cannot hold ${option} of ${asked} here.`,
    { hint: `Leave ${option} out, or run where a cgroup is writable.`, details: { runtime, option, asked } },
  );
}
