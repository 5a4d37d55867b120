import { describe, expect, it } from 'vitest';
import { DEFAULT_BLOCKED_IMPORTS } from '../policy/blockedImports.ts';
import { defaultLayer, type Layer, mergeLayers } from './layers.ts';
import { describeOrigin, type Origin } from './origin.ts';
import { overrideLayer } from './overrides.ts';
import { SETTING_KEYS, type SettingKey, type Settings, settingOf } from './settings.ts';

const TRUSTED = '/home/u/config.yaml';
const DEFAULTS = defaultLayer('/place');

describe('mergeLayers', () => {
  it('gives the defaults where nobody sets anything', () => {
    const { settings, origins, warnings } = mergeLayers([DEFAULTS], TRUSTED);
    expect(settings).toEqual({
      enabled: true,
      type: 'local',
      timeoutSec: 30,
      maxTimeoutSec: 3600,
      lifetimeSec: 3600,
      idleTimeoutSec: 900,
      keptOutputMb: 64,
      maxSandboxes: 256,
      warm: 'auto',
      warmMin: 1,
      warmMax: 8,
      warmMemoryMb: 128,
      warmIdleSec: 300,
      warmPreload: [],
      maxOutputKb: 10,
      localIsolation: 'auto',
      blockDangerousImports: 'false',
      blockedImports: DEFAULT_BLOCKED_IMPORTS,
      storeCode: 'on_error',
      artifactsDir: '/place/artifacts/executions',
      audit: 'auto',
      auditFsync: 'always',
      auditMaxFileMb: 64,
      autoApproveLowRisk: true,
      supportedLanguages: ['python', 'javascript', 'shell'],
      memoryMb: 512,
      diskMb: 256,
      maxProcesses: 64,
      networkEnabled: false,
      packagesEnabled: true,
      allowedDomains: [],
      dockerImage: 'glovebox-sandbox:latest',
      dockerNetworkEnabled: false,
      dockerCpuLimit: 0.5,
      dockerMemoryLimitMb: 256,
    });
    expect(origins).toEqual(Object.fromEntries(SETTING_KEYS.map((key) => [key, { kind: 'default' }])));
    expect(warnings).toEqual([]);
  });

  it('lets the later layer win and tells where each value came from', () => {
    const { settings, origins } = merged([
      user({ timeoutSec: 10, memoryMb: 64 }),
      environment({ timeoutSec: 20 }),
    ]);
    expect(settings).toMatchObject({ timeoutSec: 20, memoryMb: 64, diskMb: 256 });
    expect(origins).toMatchObject({
      timeoutSec: { kind: 'environment', name: 'SANDBOX_TIMEOUT_SEC' },
      memoryMb: { kind: 'user file', path: TRUSTED, name: 'memory_mb' },
      diskMb: { kind: 'default' },
    });
  });

  it('freezes everything', () => {
    const loaded = merged([project({ blockedImports: ['a'] })]);
    const parts = [loaded, loaded.settings, loaded.origins, loaded.warnings, loaded.origins.type];
    const lists = [loaded.settings.blockedImports, loaded.settings.supportedLanguages];
    expect([...parts, ...lists].every(Object.isFrozen)).toBe(true);
  });

  it.each([
    ['container', 'process', 'kernel', 'kernel', 'environment'],
    ['container', 'kernel', 'process', 'kernel', 'project file'],
    ['machine', 'process', 'process', 'machine', 'user file'],
    [undefined, undefined, 'process', 'process', 'environment'],
  ])('holds min_isolation %s, %s and %s to %s', (inUser, inProject, inEnvironment, strictest, kind) => {
    const { settings, origins } = merged([
      user({ minIsolation: inUser }),
      project({ minIsolation: inProject }),
      environment({ minIsolation: inEnvironment }),
    ]);
    expect(settings.minIsolation).toBe(strictest);
    expect(origins.minIsolation.kind).toBe(kind);
  });

  it('lets a trusted layer loosen everything else', () => {
    const { settings, warnings } = merged([
      project({ timeoutSec: 5, enabled: false, type: 'gvisor', blockedImports: ['a'] }),
      environment({ timeoutSec: 90, type: 'local', blockedImports: [] }),
      options({ enabled: true }),
    ]);
    expect(settings).toMatchObject({ timeoutSec: 90, enabled: true, type: 'local', blockedImports: [] });
    expect(warnings).toEqual([
      expect.stringContaining(
        'glovebox.yaml asks for blocked_imports ["a"]; a project file may only tighten, so',
      ),
    ]);
  });
});

describe('a project file', () => {
  /** Without it, what it asks for, and what holds; a warning comes exactly where the last two differ. */
  it.each<[SettingKey, unknown, unknown, unknown]>([
    ['enabled', true, false, false],
    ['enabled', false, true, false],
    ['type', 'local', 'bubblewrap', 'bubblewrap'],
    ['type', 'docker', 'gvisor', 'gvisor'],
    ['type', 'gvisor', 'e2b', 'e2b'],
    ['type', 'docker', 'docker', 'docker'],
    ['type', 'docker', 'kubernetes', 'docker'],
    ['type', 'docker', 'wasm', 'docker'],
    ['type', 'docker', 'local', 'docker'],
    ['type', 'microsandbox', 'gvisor', 'microsandbox'],
    ['timeoutSec', 30, 5, 5],
    ['timeoutSec', 30, 60, 30],
    ['lifetimeSec', 100, 50, 50],
    ['idleTimeoutSec', 100, 200, 100],
    ['keptOutputMb', 100, 50, 50],
    ['maxSandboxes', 100, 200, 100],
    ['maxTimeoutSec', 100, 50, 50],
    ['maxTimeoutSec', 100, 200, 100],
    ['maxOutputKb', 10, 1, 1],
    ['maxOutputKb', 10, 20, 10],
    ['memoryMb', 512, 64, 64],
    ['memoryMb', 512, 1024, 512],
    ['diskMb', 256, 64, 64],
    ['diskMb', 256, 1024, 256],
    ['maxProcesses', 64, 8, 8],
    ['maxProcesses', 64, 128, 64],
    ['cpuLimit', undefined, 4, 4],
    ['cpuLimit', 1, 0.5, 0.5],
    ['cpuLimit', 1, 2, 1],
    ['packagesEnabled', true, false, false],
    ['packagesEnabled', false, true, false],
    ['networkEnabled', true, false, false],
    ['networkEnabled', false, true, false],
    ['allowedDomains', [], ['a.example'], []],
    ['allowedDomains', ['a.example', 'b.example'], ['b.example'], ['b.example']],
    ['allowedDomains', ['*.a.example'], ['x.a.example', '*.y.a.example'], ['x.a.example', '*.y.a.example']],
    ['allowedDomains', ['*.a.example'], ['a.example', 'xa.example'], []],
    ['allowedDomains', ['a.example:8443'], ['a.example'], []],
    ['dockerNetworkEnabled', true, false, false],
    ['dockerNetworkEnabled', false, true, false],
    ['dockerCpuLimit', 2, 1, 1],
    ['dockerCpuLimit', 1, 2, 1],
    ['minIsolation', undefined, 'process', 'process'],
    ['minIsolation', 'namespace', 'kernel', 'kernel'],
    ['minIsolation', 'kernel', 'namespace', 'kernel'],
    ['localIsolation', 'none', 'auto', 'auto'],
    ['localIsolation', 'auto', 'namespace', 'namespace'],
    ['localIsolation', 'auto', 'none', 'auto'],
    ['localIsolation', 'namespace', 'auto', 'namespace'],
    ['blockDangerousImports', 'false', 'warn', 'warn'],
    ['blockDangerousImports', 'warn', 'true', 'true'],
    ['blockDangerousImports', 'true', 'warn', 'true'],
    ['blockDangerousImports', 'warn', 'false', 'warn'],
    ['blockedImports', ['a'], ['a', 'b'], ['a', 'b']],
    ['blockedImports', ['a'], ['b'], ['a', 'b']],
    ['blockedImports', ['a'], [], ['a']],
    ['supportedLanguages', ['python', 'shell'], ['shell'], ['shell']],
    ['supportedLanguages', ['python'], ['shell', 'python'], ['python']],
    ['supportedLanguages', ['python'], ['shell'], []],
  ])('%s: over %j it asks for %j, and %j holds', (key, before, asked, holds) => {
    const { settings, origins, warnings } = merged([user({ [key]: before }), project({ [key]: asked })]);
    expect(settings[key]).toEqual(holds);
    const isClamped = JSON.stringify(asked) !== JSON.stringify(holds);
    expect(warnings).toHaveLength(isClamped ? 1 : 0);
    const keepsBefore = isClamped && JSON.stringify(before) === JSON.stringify(holds);
    expect(origins[key].kind).toBe(keepsBefore ? 'user file' : 'project file');
  });

  it('is told what holds instead, where that comes from, and where to ask for more', () => {
    expect(merged([project({ timeoutSec: 60 })]).warnings).toEqual([
      'glovebox.yaml asks for timeout_sec 60; a project file may only tighten, so 30 (default) stays. Set it in /home/u/config.yaml, or set SANDBOX_TIMEOUT_SEC.',
    ]);
    expect(merged([user({ enabled: false }), project({ enabled: true })]).warnings).toEqual([
      'glovebox.yaml asks for enabled true; a project file may only tighten, so false (enabled in the user file /home/u/config.yaml) stays. Set it in /home/u/config.yaml.',
    ]);
    expect(merged([user({ blockedImports: ['a'] }), project({ blockedImports: ['b'] })]).warnings).toEqual([
      'glovebox.yaml asks for blocked_imports ["b"]; a project file may only tighten, so ["a","b"] holds. Set it in /home/u/config.yaml, or set SANDBOX_BLOCKED_IMPORTS.',
    ]);
  });

  it('is told an amount of memory as it would be written', () => {
    expect(merged([project({ dockerMemoryLimitMb: '1g' })]).warnings).toEqual([
      'glovebox.yaml asks for docker_memory_limit "1g"; a project file may only tighten, so "256m" (default) stays. Set it in /home/u/config.yaml, or set DOCKER_MEMORY_LIMIT.',
    ]);
    expect(merged([project({ dockerMemoryLimitMb: '64m' })]).settings.dockerMemoryLimitMb).toBe(64);
  });

  it('leaves a trace of what would hold without it', () => {
    const { settings, trusted } = merged([
      user({ memoryMb: 400 }),
      project({ memoryMb: 300, minIsolation: 'kernel' }),
      environment({ diskMb: 10 }),
    ]);
    expect(settings).toMatchObject({ memoryMb: 300, minIsolation: 'kernel', diskMb: 10 });
    expect(trusted.settings).toMatchObject({ memoryMb: 400, diskMb: 10 });
    expect(trusted.settings.minIsolation).toBeUndefined();
    expect(trusted.origins.memoryMb.kind).toBe('user file');
  });

  it('is measured against what lies below it, not against the environment', () => {
    const { settings, warnings } = merged([
      user({ timeoutSec: 100 }),
      project({ timeoutSec: 60 }),
      environment({ memoryMb: 64 }),
    ]);
    expect(settings.timeoutSec).toBe(60);
    expect(warnings).toEqual([]);
  });

  it.each<[SettingKey, unknown, string]>([
    ['fallback', 'local', 'it could bring in a weaker runtime'],
    ['storeCode', 'never', 'it decides what is recorded about a run'],
    ['auditDir', '/etc', 'it decides where files of this host are written'],
    ['auditMaxFileMb', 0.000001, 'it decides in how many files the log of all projects is kept'],
    ['gateRules', [{}], 'a rule of a higher level that does not ask would silence others'],
    ['artifactsDir', '/etc', 'it decides where files of this host are written'],
    ['python', './evil', 'it decides which program this host starts'],
    ['node', './evil', 'it decides which program this host starts'],
    ['bash', './evil', 'it decides which program this host starts'],
    ['dockerImage', 'evil', 'it decides which files and programs code finds'],
    ['dockerRuntime', 'runc', 'it decides what holds containers'],
    ['dockerSeccompProfile', './evil.json', 'it decides which system calls containers may use'],
    ['dockerSecurityOpt', ['apparmor=evil'], 'it decides what holds containers'],
    ['gvisorRoot', './evil', 'it decides which files and programs code finds'],
    ['pythonImage', 'evil', 'it decides which files and programs code finds'],
    ['javascriptImage', 'evil', 'it decides which files and programs code finds'],
    ['shellImage', 'evil', 'it decides which files and programs code finds'],
    ['pythonPackages', ['evil'], 'it decides what is installed into an image'],
    ['javascriptPackages', ['evil'], 'it decides what is installed into an image'],
    ['shellPackages', ['evil'], 'it decides what is installed into an image'],
  ])('may not set %s', (key, value, reason) => {
    const { name, variable } = settingOf(key);
    const orVariable = variable === undefined ? '' : `, or set ${variable}`;
    expect(() => merged([project({ [key]: value })])).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: `/place/glovebox.yaml: ${name} is not taken from a project file, because ${reason}.`,
        hint: `Remove ${name} (${JSON.stringify(value)}) there and set it in /home/u/config.yaml${orVariable}. Or look at the whole file and run: glovebox config trust`,
      }),
    );
  });
});

describe('a timeout above the longest one', () => {
  it('is cut to it with a warning and keeps its origin', () => {
    const { settings, origins, warnings } = merged([environment({ timeoutSec: 5000 })]);
    expect(settings.timeoutSec).toBe(3600);
    expect(origins.timeoutSec.kind).toBe('environment');
    expect(warnings).toEqual([
      'timeout_sec 5000 (environment variable SANDBOX_TIMEOUT_SEC) is cut to max_timeout_sec 3600 (default).',
    ]);
  });

  it('is no longer the default when it was', () => {
    const { settings, origins } = merged([environment({ maxTimeoutSec: 10 })]);
    expect(settings.timeoutSec).toBe(10);
    expect(origins.timeoutSec).toEqual({ kind: 'environment', name: 'SANDBOX_MAX_TIMEOUT_SEC' });
  });
});

describe('overrideLayer', () => {
  it('reads the text of a flag like a variable, and a value like YAML', () => {
    const overrides = { timeoutSec: '5', memoryMb: 64, python: 'bin/python', blockedImports: 'a,b' };
    const { settings, origins } = merged([
      overrideLayer(
        { overrides, overrideKind: 'flag', overrideNames: { timeoutSec: '--timeout' } },
        '/place',
      ),
    ]);
    expect(settings).toMatchObject({
      timeoutSec: 5,
      memoryMb: 64,
      python: '/place/bin/python',
      blockedImports: ['a', 'b'],
    });
    expect(origins).toMatchObject({
      timeoutSec: { kind: 'flag', name: '--timeout' },
      memoryMb: { kind: 'flag', name: 'memoryMb' },
    });
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5', null, 10n])(
    'refuses %s as the timeout of a caller',
    (timeoutSec) => {
      expect(() => overrideLayer({ overrides: { timeoutSec } }, '/place')).toThrow(
        expect.objectContaining({
          code: 'INPUT_INVALID',
          message: expect.stringMatching(/^timeoutSec is .+; it must be a number above 0/),
        }),
      );
    },
  );

  it.each(['abc', '1e3', '0x10', '', 'NaN', '-1', '0'])('refuses --timeout %j', (timeoutSec) => {
    const names = { overrideKind: 'flag', overrideNames: { timeoutSec: '--timeout' } } as const;
    expect(() => overrideLayer({ overrides: { timeoutSec }, ...names }, '/place')).toThrow(
      expect.objectContaining({
        code: 'INPUT_INVALID',
        message: expect.stringContaining(`--timeout is ${JSON.stringify(timeoutSec)}; it must be`),
        hint: expect.stringContaining('leave --timeout out'),
      }),
    );
  });

  it('takes undefined as not given', () => {
    expect(overrideLayer({ overrides: { timeoutSec: undefined } }, '/place').entries).toEqual([]);
  });

  it.each(['timeout', 'toString', '__proto__'])('refuses the unknown setting %s', (name) => {
    const overrides = JSON.parse(`{ "${name}": 1 }`);
    expect(() => overrideLayer({ overrides }, '/place')).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', message: `There is no setting called "${name}".` }),
    );
  });
});

describe('describeOrigin', () => {
  it.each<[Origin, string]>([
    [{ kind: 'default' }, 'default'],
    [{ kind: 'environment', name: 'SANDBOX_TYPE' }, 'environment variable SANDBOX_TYPE'],
    [{ kind: 'flag', name: '--runtime' }, 'flag --runtime'],
    [{ kind: 'option', name: 'runtime' }, 'option runtime'],
    [{ kind: 'user file', path: '/a', name: 'type' }, 'type in the user file /a'],
    [{ kind: 'project file', path: '/a', name: 'type' }, 'type in the project file /a'],
    [{ kind: 'config file', path: '/a\u001b', name: 'type' }, 'type in the config file /a\\u001b'],
  ])('describes %j', (origin, text) => {
    expect(describeOrigin(origin)).toBe(text);
  });
});

type Values = { [Key in SettingKey]?: unknown } & Partial<Record<keyof Settings, unknown>>;

function merged(layers: readonly Layer[]) {
  return mergeLayers([DEFAULTS, ...layers], TRUSTED);
}

function user(values: Values): Layer {
  return layer(values, (key) => ({ kind: 'user file', path: TRUSTED, name: settingOf(key).name }));
}

function project(values: Values): Layer {
  const path = '/place/glovebox.yaml';
  const origin = (key: SettingKey): Origin => ({ kind: 'project file', path, name: settingOf(key).name });
  return { ...layer(values, origin), onlyTightens: true };
}

function environment(values: Values): Layer {
  return layer(values, (key) => ({ kind: 'environment', name: settingOf(key).variable ?? '' }));
}

function options(values: Values): Layer {
  return layer(values, (key) => ({ kind: 'option', name: key }));
}

function layer(values: Values, origin: (key: SettingKey) => Origin): Layer {
  const given = (Object.entries(values) as [SettingKey, unknown][]).filter(
    ([, value]) => value !== undefined,
  );
  const entries = given.map(([key, written]) => ({
    key,
    value: settingOf(key).type.read(written, '/place'),
    written,
    origin: origin(key),
  }));
  return { entries, onlyTightens: false };
}
