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

const instead = (load: () => Promise<Runtime>) => ({ insteadOf: 'strong', load });

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
    const choice = await chooseRuntime(runtime('strong', GONE), instead(runtime('weak', WEAK)), POLICY);
    expect(choice).toMatchObject({ runtime: { name: 'weak' }, fallbackFrom: 'strong' });
    expect(choice.warnings).toEqual([
      'The runtime "strong" does not work here: It is not installed. The configured fallback "weak" was used.',
      'It is weak.',
    ]);
  });

  it('takes it also where the wanted one cannot be loaded', async () => {
    const absent = async (): Promise<Runtime> => {
      throw new SandboxError('RUNTIME_UNAVAILABLE', 'Not in this version.', { hint: 'No.' });
    };
    const choice = await chooseRuntime(absent, instead(runtime('weak', WEAK)), POLICY);
    expect(choice).toMatchObject({ runtime: { name: 'weak' }, fallbackFrom: 'strong' });
  });

  it('says nothing of a fallback that was not needed', async () => {
    const choice = await chooseRuntime(runtime('weak', WEAK), instead(runtime('other', WEAK)), POLICY);
    expect(choice.runtime.name).toBe('weak');
    expect(choice).not.toHaveProperty('fallbackFrom');
    expect(choice.warnings).toEqual(['It is weak.']);
  });

  it('gives each runtime the policy of its own name', async () => {
    const policyOf = (name: string): Policy => ({
      ...POLICY,
      limits: { ...POLICY.limits, memoryMb: { value: name === 'weak' ? 512 : 256, default: true } },
    });
    const wanted = await chooseRuntime(runtime('strong', WEAK), undefined, policyOf);
    const fallback = await chooseRuntime(runtime('strong', GONE), instead(runtime('weak', WEAK)), policyOf);
    expect([wanted, fallback].map(({ policy }) => policy.limits.memoryMb.value)).toEqual([256, 512]);
  });

  it('says why a runtime holds no more, when more was asked for', async () => {
    const policy: Policy = { ...POLICY, requires: { isolation: 'namespace' } };
    const weak: Probe = { ...WEAK, whyNotMore: 'A tool is missing. Install it.' };
    await expect(chooseRuntime(runtime('weak', weak), undefined, policy)).rejects.toMatchObject({
      code: 'POLICY_NOT_ENFORCEABLE',
      message: expect.stringMatching(
        /^The runtime "weak" cannot hold here: .*\. A tool is missing\. Install it\.$/,
      ),
    });
  });

  it('refuses a fallback that is weaker than the minimum, and says both', async () => {
    const policy: Policy = { ...POLICY, requires: { isolation: 'namespace' } };
    await expect(
      chooseRuntime(runtime('strong', GONE), instead(runtime('weak', WEAK)), policy),
    ).rejects.toMatchObject({
      code: 'POLICY_NOT_ENFORCEABLE',
      message:
        'The runtime "strong" does not work here: It is not installed. The configured fallback cannot take its ' +
        'place: The runtime "weak" cannot hold here: isolation of at least "namespace" (it gives "process").',
      hint: expect.stringMatching(/^Install it\. .*bubblewrap/),
      details: { runtime: 'weak', fallbackFrom: 'strong', unmet: [expect.anything()] },
    });
  });

  it('refuses when the fallback is unavailable too, and says both', async () => {
    const gone: Probe = { available: false, reason: 'It is gone.', fix: 'Bring it back.' };
    await expect(
      chooseRuntime(runtime('strong', GONE), instead(runtime('weak', gone)), POLICY),
    ).rejects.toMatchObject({
      code: 'RUNTIME_UNAVAILABLE',
      message: expect.stringMatching(/"strong".*It is not installed\..*"weak".*It is gone\./),
      hint: 'Install it. Bring it back.',
    });
  });

  it('never takes the fallback for a demand that the wanted runtime cannot hold', async () => {
    const policy = { ...POLICY, requires: { seccomp: true } };
    await expect(
      chooseRuntime(runtime('weak', WEAK), instead(runtime('other', WEAK)), policy),
    ).rejects.toMatchObject({
      code: 'POLICY_NOT_ENFORCEABLE',
    });
  });

  it('holds the fallback to the same demands', async () => {
    const policy = { ...POLICY, requires: { seccomp: true } };
    await expect(
      chooseRuntime(runtime('strong', GONE), instead(runtime('weak', WEAK)), policy),
    ).rejects.toMatchObject({
      code: 'POLICY_NOT_ENFORCEABLE',
    });
  });

  it('lets an error of another kind through', async () => {
    const unknown = async (): Promise<Runtime> => {
      throw new SandboxError('RUNTIME_UNKNOWN', 'No.', { hint: 'No.' });
    };
    await expect(chooseRuntime(unknown, instead(runtime('weak', WEAK)), POLICY)).rejects.toMatchObject({
      code: 'RUNTIME_UNKNOWN',
    });
  });
});
