import { describe, expect, it } from 'vitest';
import { loadSettings } from '../config/index.ts';
import { buildPolicy } from './policy.ts';

const load = (env: Record<string, string> = {}) => loadSettings({ env, cwd: '/', homeDir: '/nonexistent' });

describe('the policy of a sandbox', () => {
  it('holds defaults that nobody asked for', async () => {
    const { policy, warnings } = buildPolicy(await load(), {});
    expect(policy).toEqual({
      network: 'none',
      networkIsDefault: true,
      limits: {
        timeoutSec: { value: 30, default: true },
        memoryMb: { value: 512, default: true },
        diskMb: { value: 256, default: true },
        processes: { value: 64, default: true },
      },
      requires: {},
    });
    expect(warnings).toEqual([]);
  });

  it('takes an option and a setting for asked, and the option wins', async () => {
    const loaded = await load({ SANDBOX_MEMORY_MB: '100', SANDBOX_DISK_MB: '10', SANDBOX_CPU_LIMIT: '2' });
    const { limits } = buildPolicy(loaded, { memoryMb: 50 }).policy;
    expect(limits.memoryMb).toEqual({ value: 50, default: false });
    expect(limits.diskMb).toEqual({ value: 10, default: false });
    expect(limits.cpu).toEqual({ value: 2, default: false });
  });

  it('combines every floor of isolation to the strictest', async () => {
    const loaded = await load({ SANDBOX_MIN_ISOLATION: 'container' });
    const floor = (options: Parameters<typeof buildPolicy>[1]) =>
      buildPolicy(loaded, options).policy.requires.isolation;
    expect(floor({})).toBe('container');
    expect(floor({ minIsolation: 'process' })).toBe('container');
    expect(floor({ requires: { isolation: 'machine' } })).toBe('machine');
  });

  it('cuts a timeout to the longest that anybody gets, and says so', async () => {
    const { policy, warnings } = buildPolicy(await load(), { timeout: 99_999 });
    expect(policy.limits.timeoutSec).toEqual({ value: 3600, default: false });
    expect(warnings).toEqual([expect.stringContaining('3600')]);
  });

  it('has other defaults for a sandbox that lives on, which a setting still replaces', async () => {
    const lasting = { diskMb: 1024, cpu: 0.5 };
    expect(buildPolicy(await load(), {}, lasting).policy.limits).toMatchObject({
      diskMb: { value: 1024, default: true },
      cpu: { value: 0.5, default: true },
    });
    const set = await load({ SANDBOX_DISK_MB: '10', SANDBOX_CPU_LIMIT: '1' });
    expect(buildPolicy(set, {}, lasting).policy.limits).toMatchObject({
      diskMb: { value: 10, default: false },
      cpu: { value: 1, default: false },
    });
  });
});
