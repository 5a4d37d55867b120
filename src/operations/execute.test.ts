import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { loadSettings } from '../config/index.ts';
import type { Enforced, Guest, Probe, Runtime, SandboxSpec } from '../runtimes/runtime.ts';
import type { Context } from './context.ts';
import { executeOnce } from './execute.ts';
import type { ExecuteOptions } from './options.ts';
import { Registries } from './registries.ts';

let made: SandboxSpec[];
beforeEach(() => {
  made = [];
});

const LIMITS = { memoryMb: 'engine', diskMb: 'engine', processes: 'engine', cpu: 'engine' } as const;
const GONE: Probe = { available: false, reason: 'It is gone.', fix: 'Bring it back.' };
const HERE: Probe = {
  available: true,
  version: '1',
  capabilities: {
    ...{ isolation: 'container', network: ['none', 'open'], filesystem: 'private', processes: 'contained' },
    ...{ seccomp: true, limits: { ...LIMITS, timeoutSec: 'timer' } },
  },
};

/** Remembers what sandboxes it was asked for; their programs end at once. */
function runtime(name: string, probe: Probe): Runtime {
  return {
    name,
    probe: async () => probe,
    async create(spec) {
      made.push(spec);
      return guest(spec);
    },
  };
}

function guest({ policy }: SandboxSpec): Guest {
  const held = { value: 1, by: 'engine', default: true } as const;
  const enforced: Enforced = {
    ...{ isolation: 'container', network: policy.network, filesystem: 'private', processes: 'contained' },
    ...{ seccomp: true, uid: 1 },
    limits: { memoryMb: held, diskMb: held, processes: held, cpu: held, timeoutSec: held },
  };
  return {
    enforced,
    workspace: '/workspace',
    sharesLoopback: false,
    environment: {},
    interpreter: async () => ({ path: '/bin/true', version: '1' }),
    spawn: async () => ({
      stdout: Readable.from([]),
      stderr: Readable.from([]),
      exit: Promise.resolve({ code: 0, outOfMemory: false }),
      kill: async () => {},
    }),
    readFile: async () => new Uint8Array(),
    writeFile: async () => {},
    listFiles: async () => [],
    removeFile: async () => {},
    pack: async () => Object.assign(Readable.from([]), { leftOut: [] }),
    unpack: async () => ({ files: 0, folders: 0, bytes: 0 }),
    destroy: async () => {},
  };
}

async function context(env: Record<string, string>, wanted: Runtime, fallback?: Runtime): Promise<Context> {
  const loaded = await loadSettings({ env, cwd: '/', homeDir: '/nonexistent' });
  return {
    loaded,
    registries: new Registries(loaded.settings),
    runtimeName: wanted.name,
    runtime: async () => wanted,
    oversight: undefined,
    surface: 'library',
    fallback: fallback && { insteadOf: wanted.name, load: async () => fallback },
  };
}

const execute = async (given: Promise<Context>, options: ExecuteOptions = {}) =>
  executeOnce(await given, { code: '' }, options);

describe('a single run', () => {
  it('tells the driver so, unless somebody looks at the files afterwards', async () => {
    const given = context({}, runtime('docker', HERE));
    await execute(given);
    await execute(given, { files: { 'in.txt': 'x' } });
    await execute(given, { collect: ['out.txt'] });
    expect(made.map(({ singleUse }) => singleUse)).toEqual([true, true, undefined]);
  });

  it('makes its sandbox for the language of its code first', async () => {
    const given = context({}, runtime('docker', HERE));
    await execute(given, { language: 'javascript' });
    await execute(given, { language: 'shell' });
    expect(made.map(({ languages }) => languages)).toEqual([
      ['javascript'],
      ['shell', 'python', 'javascript'],
    ]);
  });

  it('has the defaults of the runtime that runs it', async () => {
    const { meta } = await execute(context({}, runtime('docker', HERE)));
    expect(meta.resourceLimits).toMatchObject({ memoryMb: 256, cpu: 0.5 });
    expect(meta).not.toHaveProperty('fallbackFrom');
  });
});

describe('a run on the fallback', () => {
  const env = { DOCKER_MEMORY_LIMIT: '64m', DOCKER_NETWORK_ENABLED: 'true' };

  it('says so, and has the defaults of the fallback', async () => {
    const { meta } = await execute(context(env, runtime('docker', GONE), runtime('local', HERE)));
    expect(meta).toMatchObject({
      runtime: 'local',
      fallbackFrom: 'docker',
      resourceLimits: { memoryMb: 512, cpu: null },
      enforced: { network: 'none' },
      warnings: [expect.stringMatching(/"docker".*It is gone\..*"local" was used/)],
    });
    expect(made.map(({ policy }) => policy.limits.memoryMb.value)).toEqual([512]);
  });

  it('has what was asked for', async () => {
    const given = context(env, runtime('docker', GONE), runtime('local', HERE));
    const { meta } = await execute(given, { memoryMb: 100, network: 'open' });
    expect(meta).toMatchObject({ resourceLimits: { memoryMb: 100 }, enforced: { network: 'open' } });
  });

  it('does not happen below the minimum isolation', async () => {
    const floor = { ...env, SANDBOX_MIN_ISOLATION: 'kernel' };
    await expect(
      execute(context(floor, runtime('docker', GONE), runtime('local', HERE))),
    ).rejects.toMatchObject({
      code: 'POLICY_NOT_ENFORCEABLE',
      message: expect.stringMatching(/It is gone\..*isolation of at least "kernel"/),
    });
    expect(made).toEqual([]);
  });
});
