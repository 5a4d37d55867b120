import { SandboxError } from '../../../errors.ts';

/** What the kernel must say of a program before it is given anything to do. */
const FACTS = [
  /^NoNewPrivs:\t1$/m,
  /^Seccomp:\t2$/m,
  ...['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'].map((set) => new RegExp(`^Cap${set}:\t0+$`, 'm')),
];

/**
 * Looks at `/proc/PID/status` of a program, as the host's kernel writes it. Throws `SANDBOX_FAILED` for one that is held
 * by less than every program should be, or that is another user than this one.
 */
export function assertHeldBy(status: string, uid: number): void {
  const facts = [...FACTS, new RegExp(`^Uid:\t${uid}\t${uid}\t${uid}\t${uid}$`, 'm')];
  const missing = facts.find((fact) => !fact.test(status));
  if (missing !== undefined) throw notHeld(`does not have ${missing.source}`);
}

/** The refusal of a program that a fork server made. */
export function notHeld(what: string): SandboxError {
  return new SandboxError('SANDBOX_FAILED', `A forked program ${what}.`, {
    hint: 'Programs start cold, or in interpreters that wait one by one. Run: glovebox doctor',
  });
}
