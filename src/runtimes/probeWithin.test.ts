import { describe, expect, it } from 'vitest';
import { SandboxError } from '../errors.ts';
import { probeWithin } from './probeWithin.ts';
import type { Probe } from './runtime.ts';

const GONE: Probe = { available: false, reason: 'It is not installed.', fix: 'Install it.' };

describe('a probe with a deadline', () => {
  it('answers what the runtime answers', async () => {
    await expect(probeWithin({ name: 'x', probe: async () => GONE }, 1000)).resolves.toEqual(GONE);
  });

  it('answers for a runtime that never does, and tells it to give up', async () => {
    let given: AbortSignal | undefined;
    const probe = (signal?: AbortSignal): Promise<Probe> => {
      given = signal;
      return new Promise(() => {});
    };
    await expect(probeWithin({ name: 'x', probe }, 20)).resolves.toEqual({
      available: false,
      reason: 'It has not answered within 0.02 s.',
      fix: expect.stringMatching(/\.$/),
      hung: true,
    });
    expect(given?.aborted).toBe(true);
  });

  it('keeps its sentence when the runtime fails because it was told to give up', async () => {
    const probe = (signal?: AbortSignal): Promise<Probe> =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
    await expect(probeWithin({ name: 'x', probe }, 20)).resolves.toMatchObject({
      reason: expect.stringContaining('within 0.02 s'),
    });
  });

  it.each([
    [new SandboxError('RUNTIME_UNAVAILABLE', 'No.', { hint: 'Do that.' }), 'Do that.'],
    [new Error('No.'), 'Run: glovebox doctor --verify x'],
  ])('answers for one that throws %s', async (error, fix) => {
    await expect(probeWithin({ name: 'x', probe: () => Promise.reject(error) }, 1000)).resolves.toEqual({
      available: false,
      reason: 'It could not be asked: No.',
      fix,
    });
  });
});
