import { describe, expect, it } from 'vitest';
import { SandboxError } from '../errors.ts';
import type { Policy } from '../policy/policy.ts';
import { chooseRuntime } from './choose.ts';
import type { Probe, Runtime } from './runtime.ts';

const POLICY: Policy = {
  network: 'none',
  networkIsDefault: true,
  limits: {
    memoryMb: { value: 1, default: true },
    diskMb: { value: 1, default: true },
    processes: { value: 1, default: true },
    timeoutSec: { value: 1, default: true },
  },
  requires: {},
};

function runtime(name: string, probe: Probe): () => Promise<Runtime> {
  return async () => ({
    name,
    probe: async () => probe,
    create: () => Promise.reject(new Error('not in this test')),
  });
}

const GONE: Probe = { available: false, reason: 'It is not installed.', fix: 'Install it.' };
const WEAK: Probe = {
  available: true,
  version: '1',
  capabilities: {
    isolation: 'process',
    network: ['open'],
    filesystem: 'host',
    processes: 'best-effort',
    seccomp: false,
    limits: { memoryMb: 'none', diskMb: 'none', processes: 'none', cpu: 'none', timeoutSec: 'timer' },
  },
  notes: ['It is weak.'],
};

describe('choosing a runtime', () => {
  it('refuses an unavailable one with its reason and fix when no fallback is configured', async () => {
    await expect(chooseRuntime(runtime('strong', GONE), undefined, POLICY)).rejects.toMatchObject({
      code: 'RUNTIME_UNAVAILABLE',
      message: expect.stringContaining('It is not installed.'),
      hint: 'Install it.',
    });
  });

  it('takes the configured fallback, and says so', async () => {
    const choice = await chooseRuntime(runtime('strong', GONE), runtime('weak', WEAK), POLICY);
    expect(choice.runtime.name).toBe('weak');
    expect(choice.warnings).toEqual([expect.stringContaining('fallback'), 'It is weak.']);
  });

  it('never takes the fallback for a demand that the wanted runtime cannot hold', async () => {
    const policy = { ...POLICY, requires: { seccomp: true } };
    await expect(chooseRuntime(runtime('weak', WEAK), runtime('other', WEAK), policy)).rejects.toMatchObject({
      code: 'POLICY_NOT_ENFORCEABLE',
    });
  });

  it('holds the fallback to the same demands', async () => {
    const policy = { ...POLICY, requires: { seccomp: true } };
    await expect(chooseRuntime(runtime('strong', GONE), runtime('weak', WEAK), policy)).rejects.toMatchObject(
      {
        code: 'POLICY_NOT_ENFORCEABLE',
      },
    );
  });

  it('lets an error of another kind through', async () => {
    const unknown = async (): Promise<Runtime> => {
      throw new SandboxError('RUNTIME_UNKNOWN', 'No.', { hint: 'No.' });
    };
    await expect(chooseRuntime(unknown, runtime('weak', WEAK), POLICY)).rejects.toMatchObject({
      code: 'RUNTIME_UNKNOWN',
    });
  });
});
