import { describe, expect, it } from 'vitest';
import { nameOfSurroundings, settingsOf, surroundingsOf } from './surroundings.ts';

const ENVIRONMENT = {
  PATH: '/home/me/project/node_modules/.bin:/usr/lib/node_modules/npm/node-gyp-bin:/usr/bin:/bin',
  HOME: '/home/me',
  XDG_CONFIG_HOME: '/home/me/.config',
  XDG_STATE_HOME: '/home/me/.local/state',
  XDG_RUNTIME_DIR: '/run/user/1000',
  SANDBOX_TYPE: 'docker',
  GLOVEBOX_CONFIG: 'own.yaml',
  DOCKER_IMAGE: 'own:latest',
  DOCKER_HOST: 'unix:///run/docker.sock',
  GVISOR_ROOT: '/root-of-it',
  VIRTUAL_ENV: '/home/me/venv',
  PIP_INDEX_URL: 'http://index.test',
  npm_config_registry: 'http://npm.test',
  npm_config_local_prefix: '/home/me/project',
  HTTPS_PROXY: 'http://proxy.test',
  no_proxy: 'localhost',
  AWS_SECRET_ACCESS_KEY: 'secret',
  GITHUB_TOKEN: 'secret',
  NODE_OPTIONS: '--inspect',
  LD_PRELOAD: '/tmp/evil.so',
};

describe('what travels with a request', () => {
  it('is what settings are read from, and nothing else', () => {
    expect(settingsOf(ENVIRONMENT)).toEqual({
      HOME: '/home/me',
      XDG_CONFIG_HOME: '/home/me/.config',
      XDG_STATE_HOME: '/home/me/.local/state',
      SANDBOX_TYPE: 'docker',
      GLOVEBOX_CONFIG: 'own.yaml',
      DOCKER_IMAGE: 'own:latest',
      GVISOR_ROOT: '/root-of-it',
    });
  });
});

describe('what a background process gets', () => {
  it('is what programs, engines and registries are found by: no settings, and no secrets', () => {
    expect(surroundingsOf(ENVIRONMENT)).toEqual({
      PATH: '/usr/bin:/bin',
      HOME: '/home/me',
      XDG_CONFIG_HOME: '/home/me/.config',
      XDG_STATE_HOME: '/home/me/.local/state',
      XDG_RUNTIME_DIR: '/run/user/1000',
      DOCKER_HOST: 'unix:///run/docker.sock',
      VIRTUAL_ENV: '/home/me/venv',
      PIP_INDEX_URL: 'http://index.test',
      npm_config_registry: 'http://npm.test',
      HTTPS_PROXY: 'http://proxy.test',
      no_proxy: 'localhost',
    });
  });

  it('has one name whatever its order, and another for whatever differs', () => {
    const build = ['1.0.0', '/usr/bin/node'];
    const name = nameOfSurroundings({ A: '1', B: '2' }, build);
    expect(name).toMatch(/^[0-9a-f]{16}$/);
    expect(nameOfSurroundings({ B: '2', A: '1' }, build)).toBe(name);
    const others = [
      nameOfSurroundings({ A: '1', B: '3' }, build),
      nameOfSurroundings({ A: '1' }, build),
      nameOfSurroundings({ A: '1', B: '2' }, ['1.0.1', '/usr/bin/node']),
    ];
    expect(new Set([name, ...others]).size).toBe(4);
  });
});
