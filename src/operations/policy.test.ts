import { describe, expect, it } from 'vitest';
import { type LoadedSettings, loadSettings } from '../config/index.ts';
import { defaultLayer, type Layer, mergeLayers } from '../config/layers.ts';
import { type SettingKey, settingOf } from '../config/settings.ts';
import type { PolicyOptions } from './options.ts';
import { buildPolicy, type Lifetime } from './policy.ts';

const load = (env: Record<string, string> = {}) => loadSettings({ env, cwd: '/', homeDir: '/nonexistent' });

const RUNTIMES = ['local', 'bubblewrap', 'docker', 'gvisor', 'one-of-their-own'];

describe('the policy of a sandbox', () => {
  it.each(['local', 'bubblewrap', 'one-of-their-own'])(
    'holds defaults that nobody asked for on %s',
    async (runtime) => {
      const { policy, warnings } = buildPolicy(await load(), {}, runtime);
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
    },
  );

  it.each([
    ['docker', 256],
    ['gvisor', 512],
  ])('holds half a core by default on %s, and %s MB', async (runtime, memoryMb) => {
    const { policy } = buildPolicy(await load(), {}, runtime);
    expect(policy.network).toBe('none');
    expect(policy.networkIsDefault).toBe(true);
    expect(policy.limits).toEqual({
      timeoutSec: { value: 30, default: true },
      memoryMb: { value: memoryMb, default: true },
      diskMb: { value: 256, default: true },
      processes: { value: 64, default: true },
      cpu: { value: 0.5, default: true },
    });
  });

  it.each(RUNTIMES)('has other defaults for a sandbox that lives on, on %s alike', async (runtime) => {
    expect(buildPolicy(await load(), {}, runtime, 'lasting').policy.limits).toEqual({
      timeoutSec: { value: 30, default: true },
      memoryMb: { value: 512, default: true },
      diskMb: { value: 1024, default: true },
      processes: { value: 64, default: true },
      cpu: { value: 0.5, default: true },
    });
  });

  it.each(RUNTIMES)('takes a setting for asked on %s, however long the sandbox lives', async (runtime) => {
    const loaded = await load({ SANDBOX_MEMORY_MB: '100', SANDBOX_DISK_MB: '10', SANDBOX_CPU_LIMIT: '2' });
    for (const lifetime of ['single', 'lasting'] satisfies Lifetime[]) {
      expect(buildPolicy(loaded, {}, runtime, lifetime).policy.limits).toMatchObject({
        memoryMb: { value: 100, default: false },
        diskMb: { value: 10, default: false },
        cpu: { value: 2, default: false },
      });
    }
  });

  it.each(RUNTIMES)('lets an option win over every setting on %s', async (runtime) => {
    const loaded = await load({
      ...{ SANDBOX_MEMORY_MB: '100', SANDBOX_CPU_LIMIT: '2', DOCKER_RUNTIME: 'runsc' },
      ...{ DOCKER_MEMORY_LIMIT: '64m', DOCKER_CPU_LIMIT: '1' },
    });
    expect(buildPolicy(loaded, { memoryMb: 900, cpu: 3 }, runtime).policy.limits).toMatchObject({
      memoryMb: { value: 900, default: false },
      cpu: { value: 3, default: false },
    });
  });

  it('combines every floor of isolation to the strictest', async () => {
    const loaded = await load({ SANDBOX_MIN_ISOLATION: 'container' });
    const floor = (options: PolicyOptions) => buildPolicy(loaded, options, 'x').policy.requires.isolation;
    expect(floor({})).toBe('container');
    expect(floor({ minIsolation: 'process' })).toBe('container');
    expect(floor({ requires: { isolation: 'machine' } })).toBe('machine');
  });

  it('cuts a timeout to the longest that anybody gets, and says so', async () => {
    const { policy, warnings } = buildPolicy(await load(), { timeout: 99_999 }, 'local');
    expect(policy.limits.timeoutSec).toEqual({ value: 3600, default: false });
    expect(warnings).toEqual([expect.stringContaining('3600')]);
  });
});

describe('the settings of containers', () => {
  const SET = { DOCKER_MEMORY_LIMIT: '1g', DOCKER_CPU_LIMIT: '1.5' };
  const HELD = { memoryMb: { value: 1024, default: false }, cpu: { value: 1.5, default: false } };

  it.each<[string, Record<string, string>]>([
    ['docker', {}],
    ['docker', { SANDBOX_MEMORY_MB: '100', SANDBOX_CPU_LIMIT: '2' }],
    ['docker', { DOCKER_RUNTIME: 'runsc' }],
    ['gvisor', { DOCKER_RUNTIME: 'runsc' }],
  ])('win on %s beside %j, however long the sandbox lives', async (runtime, env) => {
    const loaded = await load({ ...SET, ...env });
    for (const lifetime of ['single', 'lasting'] satisfies Lifetime[]) {
      expect(buildPolicy(loaded, {}, runtime, lifetime).policy.limits).toMatchObject(HELD);
    }
  });

  it.each<[string, Record<string, string>]>([
    ['local', {}],
    ['bubblewrap', {}],
    ['gvisor', {}],
    ['gvisor', { DOCKER_RUNTIME: 'runc' }],
    ['local', { DOCKER_RUNTIME: 'runsc' }],
  ])('say nothing about %s beside %j', async (runtime, env) => {
    const without = buildPolicy(await load(), {}, runtime);
    const settings = { ...SET, ...env, DOCKER_NETWORK_ENABLED: 'true' };
    expect(buildPolicy(await load(settings), {}, runtime)).toEqual(without);
  });

  it('lose to a flag or an option of the caller, and only to one', async () => {
    const loaded = await loadSettings({
      env: SET,
      cwd: '/',
      homeDir: '/nonexistent',
      overrides: { memoryMb: 300 },
      overrideKind: 'flag',
    });
    expect(buildPolicy(loaded, {}, 'docker').policy.limits).toMatchObject({
      memoryMb: { value: 300, default: false },
      cpu: { value: 1.5, default: false },
    });
  });

  it('hold one by one', async () => {
    const loaded = await load({ DOCKER_CPU_LIMIT: '2', SANDBOX_MEMORY_MB: '700' });
    expect(buildPolicy(loaded, {}, 'docker').policy.limits).toMatchObject({
      memoryMb: { value: 700, default: false },
      cpu: { value: 2, default: false },
    });
  });

  it.each<[string, Record<string, string>]>([
    ['docker', {}],
    ['gvisor', { DOCKER_RUNTIME: 'runsc' }],
  ])('open the network of %s where nobody asks for another, as something asked for', async (runtime, env) => {
    const loaded = await load({ DOCKER_NETWORK_ENABLED: 'true', ...env });
    const of = (options: PolicyOptions) => {
      const { network, networkIsDefault } = buildPolicy(loaded, options, runtime).policy;
      return { network, networkIsDefault };
    };
    expect(of({})).toEqual({ network: 'open', networkIsDefault: false });
    expect(of({ network: 'none' })).toEqual({ network: 'none', networkIsDefault: false });
    expect(of({ requires: { network: 'none' } })).toEqual({ network: 'none', networkIsDefault: false });
  });

  it('do not keep a program of ours from asking for an open network', async () => {
    const { policy } = buildPolicy(await load(), { network: 'open' }, 'docker');
    expect(policy).toMatchObject({ network: 'open', networkIsDefault: false });
  });
});

describe('a project file', () => {
  it.each<[what: string, user: Values, project: Values, runtime: string, memoryMb: number]>([
    ['raises nothing with memory_mb', {}, { memoryMb: 400 }, 'docker', 256],
    ['lowers it with memory_mb', {}, { memoryMb: 100 }, 'docker', 100],
    ['lowers it with docker_memory_limit', {}, { dockerMemoryLimitMb: '100m' }, 'docker', 100],
    [
      'raises nothing with docker_memory_limit',
      { memoryMb: 100 },
      { dockerMemoryLimitMb: '200m' },
      'docker',
      100,
    ],
    ['lowers what memory_mb raised', { memoryMb: 4000 }, { memoryMb: 2000 }, 'docker', 2000],
    ['lowers it elsewhere too', { memoryMb: 4000 }, { memoryMb: 2000 }, 'local', 2000],
    ['is heard beside a docker_memory_limit', { dockerMemoryLimitMb: '1g' }, { memoryMb: 64 }, 'docker', 64],
    ['raises nothing beside one', { dockerMemoryLimitMb: '64m' }, { memoryMb: 300 }, 'docker', 64],
  ])('%s: over %j it asks for %j on %s, and %j MB hold', (_, user, project, runtime, memoryMb) => {
    expect(buildPolicy(withProject(user, project), {}, runtime).policy.limits.memoryMb.value).toBe(memoryMb);
  });

  it.each<[user: Values, project: Values, runtime: string, lifetime: Lifetime, cpu: number | undefined]>([
    [{}, { cpuLimit: 4 }, 'local', 'single', 4],
    [{}, { cpuLimit: 4 }, 'docker', 'single', 0.5],
    [{}, { cpuLimit: 4 }, 'gvisor', 'single', 0.5],
    [{}, { cpuLimit: 4 }, 'local', 'lasting', 0.5],
    [{ cpuLimit: 2 }, { cpuLimit: 1 }, 'docker', 'single', 1],
    [{ cpuLimit: 0.2 }, { dockerCpuLimit: 0.4 }, 'docker', 'single', 0.2],
    [{}, { dockerCpuLimit: 0.1 }, 'docker', 'lasting', 0.1],
    [{}, { dockerCpuLimit: 0.1 }, 'local', 'single', undefined],
  ])('over %j asks for %j on %s (%s), and %j cores hold', (user, project, runtime, lifetime, cpu) => {
    expect(buildPolicy(withProject(user, project), {}, runtime, lifetime).policy.limits.cpu?.value).toBe(cpu);
  });

  it('asked for what it lowered, and not for what it could not raise', () => {
    const of = (project: Values) =>
      buildPolicy(withProject({}, project), {}, 'docker').policy.limits.memoryMb.default;
    expect([of({ memoryMb: 100 }), of({ memoryMb: 400 })]).toEqual([false, true]);
  });

  it('may choose containers, and not their network with them', () => {
    const user = { dockerNetworkEnabled: true };
    const network = (loaded: LoadedSettings) => buildPolicy(loaded, {}, 'docker').policy.network;
    expect(network(withProject(user, { type: 'docker' }))).toBe('none');
    expect(network(withProject({ ...user, type: 'docker' }, {}))).toBe('open');
  });
});

type Values = Readonly<Partial<Record<SettingKey, unknown>>>;

function withProject(user: Values, project: Values): LoadedSettings {
  return mergeLayers([defaultLayer('/'), layer(user, false), layer(project, true)], '/user.yaml');
}

function layer(values: Values, onlyTightens: boolean): Layer {
  const kind = onlyTightens ? 'project file' : 'user file';
  const entries = (Object.entries(values) as [SettingKey, unknown][]).map(([key, written]) => {
    const { name, type } = settingOf(key);
    const origin = { kind, path: `/${kind}.yaml`, name } as const;
    return { key, value: type.read(written, '/'), written, origin };
  });
  return { entries, onlyTightens };
}
