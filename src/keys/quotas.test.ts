import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Quotas } from './key.ts';
import { Usage } from './quotas.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const key = (quotas: Quotas, id = 'one') => ({ id, quotas });

const used = (quota: string, limit: number, seconds: number) => ({
  code: 'QUOTA_EXCEEDED',
  message: expect.stringContaining(quota),
  details: { quota, limit, retry_after_sec: seconds },
});

describe('what a key may use', () => {
  it('is a number of executions a minute, from the first one on, for each key', async () => {
    const usage = new Usage();
    const two = key({ executionsPerMinute: 2 });
    await usage.admitExecution(two);
    vi.advanceTimersByTime(20_000);
    await usage.admitExecution(two);
    await expect(usage.admitExecution(two)).rejects.toMatchObject(used('executions_per_minute', 2, 40));
    await usage.admitExecution(key({ executionsPerMinute: 2 }, 'other'));
    vi.advanceTimersByTime(39_999);
    await expect(usage.admitExecution(two)).rejects.toMatchObject(used('executions_per_minute', 2, 1));
    vi.advanceTimersByTime(1);
    await usage.admitExecution(two);
  });

  it('is counted where all ask at the same time', async () => {
    const usage = new Usage();
    const five = key({ executionsPerMinute: 5 });
    const asked = await Promise.allSettled(Array.from({ length: 20 }, () => usage.admitExecution(five)));
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  });

  it('is CPU time an hour, and bytes an hour, which are known afterwards', async () => {
    const usage = new Usage();
    const cpu = key({ cpuSecondsPerHour: 10 });
    await usage.spend(cpu, { cpuSec: 9.5, bytes: 1e9 });
    await usage.admitExecution(cpu);
    await usage.spend(cpu, { cpuSec: 20 });
    vi.advanceTimersByTime(600_000);
    await expect(usage.admitExecution(cpu)).rejects.toMatchObject(used('cpu_seconds_per_hour', 10, 3000));
    await usage.admitTransfer(cpu);
    vi.advanceTimersByTime(3_000_000);
    await usage.admitExecution(cpu);

    const bytes = key({ bytesPerHour: 1000 });
    await usage.spend(bytes, { cpuSec: 100, bytes: 999 });
    await usage.admitTransfer(bytes);
    await usage.spend(bytes, { bytes: 1 });
    await expect(usage.admitTransfer(bytes)).rejects.toMatchObject(used('bytes_per_hour', 1000, 3600));
    await expect(usage.admitExecution(bytes)).rejects.toMatchObject(used('bytes_per_hour', 1000, 3600));
  });

  it('is a number of sandboxes at once', () => {
    const usage = new Usage();
    const two = key({ maxSandboxes: 2 });
    usage.admitSandbox(two, 1);
    expect(() => usage.admitSandbox(two, 2)).toThrow(expect.objectContaining(used('max_sandboxes', 2, 30)));
  });

  it('is anything where no quota is named', async () => {
    const usage = new Usage();
    for (let count = 0; count < 100; count++) await usage.admitExecution(key({}));
    await usage.spend(key({}), { cpuSec: 1e9, bytes: 1e12 });
    await usage.admitExecution(key({}));
    usage.admitSandbox(key({}), 1e6);
    expect(vi.getTimerCount()).toBe(0);
  });
});
