import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DEFAULT_DOCKER_SETTINGS } from './docker/settings.ts';
import { isEngineContainer, loadRuntime, RUNTIME_NAMES, type RuntimeOptions } from './registry.ts';

const docker = { ...DEFAULT_DOCKER_SETTINGS, runtime: 'runsc' };

// Whatever engine this machine has, it is not asked.
beforeEach(() => void vi.stubEnv('DOCKER_HOST', 'unix:///no/such.sock'));
afterEach(() => void vi.unstubAllEnvs());

describe('the built-in runtimes', () => {
  it.each(RUNTIME_NAMES)('have the name %s, under which they were asked for', async (name) => {
    expect((await loadRuntime(name)).name).toBe(name);
    expect((await loadRuntime(name, { docker })).name).toBe(name);
  });

  it.each<[string, RuntimeOptions, boolean]>([
    ['docker', {}, true],
    ['docker', { docker }, true],
    ['gvisor', { docker }, true],
    ['gvisor', {}, false],
    ['gvisor', { docker: { ...docker, runtime: 'runc' } }, false],
  ])('ask an engine for %s with %j: %s', async (name, options, asksEngine) => {
    const probe = await (await loadRuntime(name, options)).probe();
    const reason = probe.available ? '' : probe.reason;
    expect(reason.includes('Docker daemon not available')).toBe(asksEngine);
    expect(isEngineContainer(name, options.docker?.runtime)).toBe(asksEngine);
  });

  it('refuse a root where an image is one', async () => {
    const gvisor = { root: '/srv/root' };
    await expect(loadRuntime('gvisor', { docker, gvisor })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/GVISOR_ROOT.*"\/srv\/root".*DOCKER_RUNTIME.*"runsc"/),
    });
    expect((await loadRuntime('gvisor', { gvisor })).name).toBe('gvisor');
    expect((await loadRuntime('docker', { docker, gvisor })).name).toBe('docker');
  });

  it('hand a root on to gVisor, which looks at it', async () => {
    const runtime = await loadRuntime('gvisor', { gvisor: { root: '/no/such/root' } });
    await expect(runtime.probe()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('are told from those of later versions and from those that nobody knows', async () => {
    await expect(loadRuntime('e2b', {}, 'flag --runtime')).rejects.toMatchObject({
      code: 'RUNTIME_UNAVAILABLE',
      message: 'This version does not have the runtime "e2b" (flag --runtime).',
    });
    await expect(loadRuntime('constructor')).rejects.toMatchObject({ code: 'RUNTIME_UNKNOWN' });
  });
});
