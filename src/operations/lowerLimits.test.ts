import { describe, expect, it } from 'vitest';
import type { EnforcedLimit } from '../runtimes/runtime.ts';
import { lowerLimits } from './lowerLimits.ts';

const wanted = (value: number) => ({ value, default: true });
const held: EnforcedLimit = { value: 1, by: 'cgroup', default: true };
const none: EnforcedLimit = { value: null, by: 'none', default: true };

function sandbox(processes = held): Parameters<typeof lowerLimits>[0] {
  const limits = { memoryMb: held, diskMb: held, processes, cpu: held, timeoutSec: held };
  return {
    runtime: 'some',
    policy: {
      network: 'none',
      networkIsDefault: true,
      limits: { timeoutSec: wanted(30), memoryMb: wanted(512), diskMb: wanted(256), processes: wanted(64) },
      requires: {},
    },
    enforced: {
      ...{ isolation: 'namespace', network: 'none', filesystem: 'private', processes: 'contained' },
      ...{ seccomp: true, uid: 1, limits },
    },
  };
}

describe('the limits of one program', () => {
  it('are those of its sandbox where it asks for none', () => {
    expect(lowerLimits(sandbox(), {})).toEqual({ warnings: [] });
    expect(lowerLimits(sandbox(), { maxMemoryMb: 512, maxProcesses: 64 })).toEqual({ warnings: [] });
  });

  it('can be lower, and are cut where they are not, which is said', () => {
    expect(lowerLimits(sandbox(), { maxMemoryMb: 100, maxProcesses: 65 })).toEqual({
      limits: { memoryMb: 100 },
      warnings: ['maxProcesses of 65 was cut to 64, which is what the sandbox was made with.'],
    });
  });

  it('are refused where nobody would hold them', () => {
    expect(() => lowerLimits(sandbox(none), { maxProcesses: 1 })).toThrow(
      expect.objectContaining({ code: 'POLICY_NOT_ENFORCEABLE' }),
    );
    expect(lowerLimits(sandbox(none), { maxMemoryMb: 1 })).toEqual({ limits: { memoryMb: 1 }, warnings: [] });
  });
});
