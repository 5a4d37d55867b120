import { describe, expect, it } from 'vitest';
import { loadSettings } from '../config/index.ts';
import { createContext, runtimeOptions } from './context.ts';

const PLACE = { cwd: '/place', homeDir: '/nonexistent' };
const optionsWith = async (env: Record<string, string>, overrides = {}) =>
  runtimeOptions(await loadSettings({ ...PLACE, env, overrides }));

describe('what runtimes take from the settings', () => {
  it('is what holds where nobody set anything', async () => {
    expect(await optionsWith({})).toEqual({
      interpreters: {},
      localIsolation: 'auto',
      docker: {
        image: 'glovebox-sandbox:latest',
        images: {},
        securityOpt: [],
      },
      gvisor: {},
    });
  });

  it('is everything that was set, under the names of the runtimes', async () => {
    const env = {
      ...{ SANDBOX_PYTHON: '/p', SANDBOX_NODE: '/n', SANDBOX_BASH: '/b', SANDBOX_LOCAL_ISOLATION: 'none' },
      ...{ DOCKER_IMAGE: 'a', DOCKER_RUNTIME: 'runsc', DOCKER_NETWORK_ENABLED: 'true' },
      ...{ DOCKER_SECCOMP_PROFILE: 'p.json', DOCKER_SECURITY_OPT: 'apparmor=b', GVISOR_ROOT: 'root' },
    };
    const images = { pythonImage: 'p', javascriptImage: 'j', shellImage: 's' };
    expect(await optionsWith(env, images)).toEqual({
      interpreters: { python: '/p', javascript: '/n', shell: '/b' },
      localIsolation: 'none',
      docker: {
        image: 'a',
        images: { python: 'p', javascript: 'j', shell: 's' },
        runtime: 'runsc',
        seccompProfile: '/place/p.json',
        securityOpt: ['apparmor=b'],
      },
      gvisor: { root: '/place/root' },
    });
  });
});

describe('a context', () => {
  it('knows what its fallback stands in for', async () => {
    const env = { SANDBOX_TYPE: 'docker', SANDBOX_FALLBACK: 'local' };
    const chosenBySetting = await createContext({ ...PLACE, env });
    const chosenByCaller = await createContext({ ...PLACE, env, runtime: 'gvisor' });
    expect([chosenBySetting, chosenByCaller].map(({ fallback }) => fallback?.insteadOf)).toEqual([
      'docker',
      'gvisor',
    ]);
    expect((await createContext({ ...PLACE, env: {} })).fallback).toBeUndefined();
  });
});
