import { randomBytes } from 'node:crypto';
import type { Policy } from '../../policy/policy.ts';
import type { SandboxSpec } from '../runtime.ts';

const TRIAL_POLICY: Policy = {
  network: 'none',
  networkIsDefault: true,
  limits: {
    memoryMb: { value: 64, default: true },
    diskMb: { value: 1, default: true },
    // Enough for a trial, and so few that a kernel which counts the whole user's processes here fails it.
    processes: { value: 8, default: true },
    timeoutSec: { value: 10, default: true },
  },
  requires: {},
};

/** A sandbox that is made to see whether it holds, before any other is. */
export function trialSpec(policy: Policy = TRIAL_POLICY): SandboxSpec {
  return { id: `trial${randomBytes(6).toString('hex')}`, policy, languages: [] };
}
