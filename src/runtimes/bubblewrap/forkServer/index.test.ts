import { describe, expect, it } from 'vitest';
import { SandboxError } from '../../../errors.ts';
import { trialSpec } from '../../host/trialSpec.ts';
import { ForkServers, type ForkServersParts } from './index.ts';

/** Servers that cannot be started, and how often that was tried. */
function failing(error: Error): { servers: ForkServers; tries: () => number } {
  let tries = 0;
  const parts: Pick<ForkServersParts, 'start' | 'cgroups'> = {
    cgroups: undefined,
    start: async () => {
      tries++;
      throw error;
    },
  };
  // Nothing else is looked at before one is started.
  return { servers: new ForkServers(parts as ForkServersParts), tries: () => tries };
}

const failure = (code: 'SANDBOX_FAILED' | 'CONFIG_INVALID') =>
  new SandboxError(code, 'No.', { hint: 'None.' });

describe('fork servers that do not work here', () => {
  it('leave it to another way to wait, and are not tried for ever', async () => {
    const { servers, tries } = failing(failure('SANDBOX_FAILED'));
    for (let round = 0; round < 5; round++) {
      expect(await servers.create(trialSpec(), new Map())).toBeUndefined();
    }
    expect(tries()).toBe(3);
  });

  it('say what cannot be preloaded, each time', async () => {
    const { servers, tries } = failing(failure('CONFIG_INVALID'));
    for (let round = 0; round < 5; round++) {
      await expect(servers.create(trialSpec(), new Map())).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
    expect(tries()).toBe(5);
  });
});
