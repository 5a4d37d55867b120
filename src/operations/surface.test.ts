import { describe, expect, it } from 'vitest';
import { loadSettings } from '../config/index.ts';
import { outputLimit } from './job.ts';
import { lifeFor } from './lifeFor.ts';
import { policyFor } from './policy.ts';
import { defaultsOf, settledFor } from './surface.ts';

const PLACE = { cwd: '/', homeDir: '/nowhere', env: {} };

describe('a surface that a model speaks through', () => {
  it.each(['mcp', 'http', 'agent'] as const)(
    'is recorded, gated and isolated by default: %s',
    async (surface) => {
      const { settings } = await loadSettings({ ...PLACE, defaults: defaultsOf(surface) });
      expect(settings).toMatchObject({ minIsolation: 'namespace', audit: 'on', gate: 'ask-on-danger' });
    },
  );

  it('leaves the library and the command line as they are', async () => {
    for (const surface of ['library', 'cli'] as const) {
      const { settings } = await loadSettings({ ...PLACE, defaults: defaultsOf(surface) });
      expect([settings.minIsolation, settings.audit, settings.gate]).toEqual([undefined, 'auto', undefined]);
    }
  });

  it('lets a setting of the operator lower the isolation, which a default is not combined with', async () => {
    const env = { SANDBOX_MIN_ISOLATION: 'process', SANDBOX_GATE: 'off', SANDBOX_AUDIT: 'off' };
    const { settings } = await loadSettings({ ...PLACE, env, defaults: defaultsOf('mcp') });
    expect(settings).toMatchObject({ minIsolation: 'process', gate: 'off', audit: 'off' });
  });

  it('cuts what is asked for to what the settings say, where the library takes it', async () => {
    const loaded = await loadSettings(PLACE);
    const asked = { timeout: 60, network: 'open', memoryMb: 9999 } as const;
    const free = policyFor({ loaded, surface: 'library' }, asked, 'local').policy;
    expect([free.limits.timeoutSec.value, free.limits.memoryMb.value, free.network]).toEqual([
      60,
      9999,
      'open',
    ]);
    const { policy, warnings } = policyFor({ loaded, surface: 'mcp' }, asked, 'local');
    expect([policy.limits.timeoutSec.value, policy.limits.memoryMb.value, policy.network]).toEqual([
      30,
      512,
      'none',
    ]);
    expect(warnings).toHaveLength(4);
  });

  it('lets nobody choose a mapped name, which an open network does not lead to', async () => {
    const read = await loadSettings({ ...PLACE, env: { DOCKER_NETWORK_ENABLED: 'true' } });
    const hostMap = { 'db.corp': '127.0.0.1:5432' };
    const asked = { allowedDomains: ['*.corp', 'example.org'] };
    const egressOf = (surface: 'library' | 'mcp', allowedDomains: readonly string[]) => {
      const loaded = { ...read, settings: { ...read.settings, hostMap, allowedDomains } };
      return policyFor({ loaded, surface }, asked, 'docker').policy.egress;
    };
    expect(egressOf('library', [])).toEqual({ ...asked, hostMap });
    expect(egressOf('mcp', [])).toEqual({ ...asked, hostMap: {} });
    expect(egressOf('mcp', ['DB.corp.'])).toEqual({ ...asked, hostMap });
  });

  it('cuts output, life and ports as well', async () => {
    const loaded = await loadSettings(PLACE);
    const free = { loaded, surface: 'library' } as const;
    const bound = { loaded, surface: 'http' } as const;
    const large = { maxOutputBytes: 5 * 1024 ** 2 };
    expect(outputLimit(free, large, 'single').maxOutputKb).toBe(5120);
    expect(outputLimit(bound, large, 'single')).toEqual({
      maxOutputKb: 10,
      warnings: ['The output limit of 5120 KB was cut to 10 KB, which is what the operator allows.'],
    });
    expect(outputLimit(bound, large, 'lasting').maxOutputKb).toBe(1024);
    expect(outputLimit(bound, { maxOutputKb: 1 }, 'lasting')).toEqual({ maxOutputKb: 1, warnings: [] });
    const long = { lifetime: 7200, idleTimeout: 7200 };
    expect(lifeFor(free, long)).toEqual({ lifetimeSec: 7200, idleSec: 7200, warnings: [] });
    expect(lifeFor(bound, long)).toMatchObject({ lifetimeSec: 3600, idleSec: 900 });
    expect(lifeFor(bound, { lifetime: 1, idleTimeout: 2 })).toEqual({
      lifetimeSec: 1,
      idleSec: 2,
      warnings: [],
    });
    expect(() => lifeFor(bound, { forwardPorts: true })).toThrowError(
      expect.objectContaining({ code: 'POLICY_DENIED' }),
    );
  });
});

describe('a batch', () => {
  const settled = async (env: Record<string, string>) =>
    settledFor('batch', await loadSettings({ ...PLACE, env, defaults: defaultsOf('batch') })).settings;

  it('runs in namespaces at least, and is recorded and gated as the command line is', async () => {
    expect(await settled({})).toMatchObject({ minIsolation: 'namespace', audit: 'auto' });
    expect((await settled({})).gate).toBeUndefined();
  });

  it('takes a plain process where a setting asks for that, and nothing less than a setting demands', async () => {
    const plain = { SANDBOX_LOCAL_ISOLATION: 'none' };
    expect((await settled(plain)).minIsolation).toBeUndefined();
    expect((await settled({ SANDBOX_MIN_ISOLATION: 'process' })).minIsolation).toBe('process');
    expect((await settled({ ...plain, SANDBOX_MIN_ISOLATION: 'container' })).minIsolation).toBe('container');
    const model = await loadSettings({ ...PLACE, env: plain, defaults: defaultsOf('mcp') });
    expect(settledFor('mcp', model).settings.minIsolation).toBe('namespace');
  });
});
