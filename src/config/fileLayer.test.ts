import { describe, expect, it } from 'vitest';
import { SandboxError } from '../errors.ts';
import { fileLayer } from './fileLayer.ts';
import { SETTING_KEYS, type SettingKey, settingOf } from './settings.ts';
import { YAML_KEYS } from './yamlKeys.ts';

const FILE = { kind: 'user file', path: '/home/u/config.yaml', folder: '/home/u' } as const;

/** One YAML line for every name that a setting has, and what it means. */
const NAMES: Readonly<Record<string, [yaml: string, key: SettingKey, value: unknown]>> = {
  enabled: ['enabled: false', 'enabled', false],
  type: ['type: docker', 'type', 'docker'],
  runtime: ['runtime: runsc', 'type', 'gvisor'],
  timeout_sec: ['timeout_sec: 2.5', 'timeoutSec', 2.5],
  'limits.max_execution_time': ['limits: {max_execution_time: 5}', 'timeoutSec', 5],
  lifetime_sec: ['lifetime_sec: 60', 'lifetimeSec', 60],
  idle_timeout_sec: ['idle_timeout_sec: 60', 'idleTimeoutSec', 60],
  kept_output_mb: ['kept_output_mb: 1', 'keptOutputMb', 1],
  packages_enabled: ['packages_enabled: false', 'packagesEnabled', false],
  max_sandboxes: ['max_sandboxes: 2', 'maxSandboxes', 2],
  max_timeout_sec: ['max_timeout_sec: 60', 'maxTimeoutSec', 60],
  max_output_kb: ['max_output_kb: 20', 'maxOutputKb', 20],
  'limits.max_output_bytes': ['limits: {max_output_bytes: 1536}', 'maxOutputKb', 1.5],
  'warm.mode': ['warm: {mode: off}', 'warm', 'off'],
  'warm.min': ['warm: {min: 2}', 'warmMin', 2],
  'warm.max': ['warm: {max: 4}', 'warmMax', 4],
  'warm.memory_mb': ['warm: {memory_mb: 64}', 'warmMemoryMb', 64],
  'warm.idle_sec': ['warm: {idle_sec: 2.5}', 'warmIdleSec', 2.5],
  'warm.preload': ['warm: {preload: [numpy, os.path]}', 'warmPreload', ['numpy', 'os.path']],
  'warm.max_concurrent': ['warm: {max_concurrent: 3}', 'warmMaxConcurrent', 3],
  min_isolation: ['min_isolation: kernel', 'minIsolation', 'kernel'],
  local_isolation: ['local_isolation: none', 'localIsolation', 'none'],
  fallback: ['fallback: local', 'fallback', 'local'],
  block_dangerous_imports: ['block_dangerous_imports: true', 'blockDangerousImports', 'true'],
  blocked_imports: ['blocked_imports: [os, "python:re"]', 'blockedImports', ['os', 'python:re']],
  store_code: ['store_code: never', 'storeCode', 'never'],
  artifacts_dir: ['artifacts_dir: ./kept', 'artifactsDir', '/home/u/kept'],
  audit: ['audit: on', 'audit', 'on'],
  audit_dir: ['audit_dir: ./log', 'auditDir', '/home/u/log'],
  audit_fsync: ['audit_fsync: never', 'auditFsync', 'never'],
  audit_max_file_mb: ['audit_max_file_mb: 8', 'auditMaxFileMb', 8],
  gate: ['gate: ask-on-danger', 'gate', 'ask-on-danger'],
  'hitl.enabled': ['hitl: {enabled: true}', 'gate', 'strict'],
  'hitl.auto_approve_low_risk': ['hitl: {auto_approve_low_risk: false}', 'autoApproveLowRisk', false],
  'hitl.rules': ['hitl: {rules: [{id: a}]}', 'gateRules', [{ id: 'a' }]],
  supported_languages: ['supported_languages: [python]', 'supportedLanguages', ['python']],
  memory_mb: ['memory_mb: 64', 'memoryMb', 64],
  'limits.max_memory_mb': ['limits: {max_memory_mb: 64}', 'memoryMb', 64],
  disk_mb: ['disk_mb: 64', 'diskMb', 64],
  'limits.max_disk_mb': ['limits: {max_disk_mb: 64}', 'diskMb', 64],
  max_processes: ['max_processes: 8', 'maxProcesses', 8],
  cpu_limit: ['cpu_limit: 0.5', 'cpuLimit', 0.5],
  'limits.max_cpu_cores': ['limits: {max_cpu_cores: 2}', 'cpuLimit', 2],
  'network.enabled_by_default': ['network: {enabled_by_default: true}', 'networkEnabled', true],
  'network.allowed_domains': [
    'network: {allowed_domains: [a.example, "*.b.example:8443"]}',
    'allowedDomains',
    ['a.example', '*.b.example:8443'],
  ],
  'network.host_map': [
    'network: {host_map: {a.test: "127.0.0.1:80"}}',
    'hostMap',
    { 'a.test': '127.0.0.1:80' },
  ],
  'network.allowed_registries.pypi': [
    'network: {allowed_registries: {pypi: "https://index.example/simple"}}',
    'pypiRegistries',
    ['https://index.example/simple'],
  ],
  'network.allowed_registries.npm': [
    'network: {allowed_registries: {npm: ["https://npm.example/"]}}',
    'npmRegistries',
    ['https://npm.example/'],
  ],
  python: ['python: python3.11', 'python', 'python3.11'],
  node: ['node: bin/node', 'node', '/home/u/bin/node'],
  bash: ['bash: /bin/bash', 'bash', '/bin/bash'],
  docker_image: ['docker_image: python:3.11-slim', 'dockerImage', 'python:3.11-slim'],
  docker_runtime: ['docker_runtime: runsc', 'dockerRuntime', 'runsc'],
  docker_network_enabled: ['docker_network_enabled: true', 'dockerNetworkEnabled', true],
  docker_cpu_limit: ['docker_cpu_limit: 2', 'dockerCpuLimit', 2],
  docker_memory_limit: ['docker_memory_limit: 1g', 'dockerMemoryLimitMb', 1024],
  docker_seccomp_profile: ['docker_seccomp_profile: p.json', 'dockerSeccompProfile', '/home/u/p.json'],
  docker_security_opt: ['docker_security_opt: [apparmor=mine]', 'dockerSecurityOpt', ['apparmor=mine']],
  gvisor_root: ['gvisor_root: root', 'gvisorRoot', '/home/u/root'],
  'languages.python.image': ['languages: {python: {image: a}}', 'pythonImage', 'a'],
  'languages.javascript.image': ['languages: {javascript: {image: a}}', 'javascriptImage', 'a'],
  'languages.shell.image': ['languages: {shell: {image: a}}', 'shellImage', 'a'],
  'languages.python.default_packages': [
    'languages: {python: {default_packages: [numpy, "requests==2.31.0"]}}',
    'pythonPackages',
    ['numpy', 'requests==2.31.0'],
  ],
  'languages.javascript.default_packages': [
    'languages: {javascript: {default_packages: ["@scope/name@1.0"]}}',
    'javascriptPackages',
    ['@scope/name@1.0'],
  ],
  'languages.shell.default_packages': [
    'languages: {shell: {default_packages: [jq, g++]}}',
    'shellPackages',
    ['jq', 'g++'],
  ],
};

describe('fileLayer', () => {
  it('has a case here for every name of every setting', () => {
    const names = [...YAML_KEYS].flatMap(([name, { kind }]) => (kind === 'setting' ? name : []));
    expect(Object.keys(NAMES).sort()).toEqual(names.sort());
  });

  it.each(Object.entries(NAMES))('reads %s', (name, [yaml, key, value]) => {
    const { entries } = fileLayer(sandbox(yaml), FILE);
    expect(entries).toMatchObject([{ key, value, origin: { kind: 'user file', path: FILE.path, name } }]);
  });

  it.each([
    ['type: gvisor', 'gvisor'],
    ['runtime: gvisor', 'gvisor'],
    ['runtime: docker', 'docker'],
    ['block_dangerous_imports: false', 'false'],
    ['block_dangerous_imports: warn', 'warn'],
    ['block_dangerous_imports: "true"', 'true'],
    ['blocked_imports: "os, re"', ['os', 're']],
    ['blocked_imports: []', []],
    ['supported_languages: "shell,python"', ['shell', 'python']],
    ['docker_memory_limit: 8388608', 8],
    ['docker_security_opt: ["label=level:s0:c1,c2"]', ['label=level:s0:c1,c2']],
    ['docker_security_opt: []', []],
    ['languages: {shell: {default_packages: []}}', []],
  ])('reads %s as %j', (yaml, value) => {
    expect(fileLayer(sandbox(yaml), FILE).entries.map((entry) => entry.value)).toEqual([value]);
  });

  it.each([
    '',
    '# nothing',
    'security: {}',
    'security: {sandbox: {}}',
    sandbox('network: {}'),
    sandbox('network: {allowed_registries: {}}'),
    sandbox('limits: {}'),
    sandbox('languages: {python: {}}'),
    sandbox('hitl: {}'),
  ])('takes %j as no setting', (text) => {
    expect(fileLayer(text, FILE).entries).toEqual([]);
  });

  it('only tightens when it is the project file', () => {
    expect(fileLayer('', { ...FILE, kind: 'project file' }).onlyTightens).toBe(true);
    expect(fileLayer('', { ...FILE, kind: 'config file' }).onlyTightens).toBe(false);
  });
});

describe('a file is refused for', () => {
  it.each([
    ['timeout_sec: 0', 'timeout_sec', '0'],
    ['timeout_sec: -1', 'timeout_sec', '-1'],
    ['timeout_sec: .nan', 'timeout_sec', 'NaN'],
    ['timeout_sec: .inf', 'timeout_sec', 'Infinity'],
    ['timeout_sec: "30"', 'timeout_sec', '"30"'],
    ['timeout_sec:', 'timeout_sec', 'null'],
    ['timeout_sec: [30]', 'timeout_sec', '[30]'],
    ['memory_mb: 1.5', 'memory_mb', '1.5'],
    ['limits: {max_output_bytes: 0}', 'limits.max_output_bytes', '0'],
    ['type: runsc', 'type', '"runsc"'],
    ['runtime: 3', 'runtime', '3'],
    ['enabled: "yes"', 'enabled', '"yes"'],
    ['supported_languages: []', 'supported_languages', '[]'],
    ['supported_languages: [python, ruby]', 'supported_languages', '["python","ruby"]'],
    ['blocked_imports: [1]', 'blocked_imports', '[1]'],
    ['blocked_imports: ["shell:curl"]', 'blocked_imports', '["shell:curl"]'],
    ['artifacts_dir: ~/kept', 'artifacts_dir', '"~/kept"'],
    ['docker_memory_limit: 256', 'docker_memory_limit', '256'],
    ['docker_memory_limit: .inf', 'docker_memory_limit', 'Infinity'],
    ['docker_memory_limit: 8388608.5', 'docker_memory_limit', '8388608.5'],
    ['docker_security_opt: [1]', 'docker_security_opt', '[1]'],
    ['docker_security_opt: {label: disable}', 'docker_security_opt', '{"label":"disable"}'],
    [
      'docker_security_opt: ["label=level:s0,label=disable"]',
      'docker_security_opt',
      '["label=level:s0,label=disable"]',
    ],
    ['docker_image: 3', 'docker_image', '3'],
    ['languages: {python: {image: -x}}', 'languages.python.image', '"-x"'],
    ['languages: {python: {default_packages: [--pre]}}', 'languages.python.default_packages', '["--pre"]'],
    ['network: {enabled_by_default: 1}', 'network.enabled_by_default', '1'],
    ['network: {allowed_domains: a.example}', 'network.allowed_domains', '"a.example"'],
    ['network: {allowed_domains: ["*"]}', 'network.allowed_domains', '["*"]'],
    ['network: {allowed_domains: ["https://a.example"]}', 'network.allowed_domains', '["https://a.example"]'],
    ['network: {allowed_domains: [127.0.0.1]}', 'network.allowed_domains', '["127.0.0.1"]'],
    ['network: {host_map: {a.test: localhost}}', 'network.host_map', '{"a.test":"localhost"}'],
    ['network: {host_map: {a.test: 80}}', 'network.host_map', '{"a.test":80}'],
    ['network: {host_map: [a.test]}', 'network.host_map', '["a.test"]'],
    [
      'network: {allowed_registries: {npm: "https://user:secret@npm.example/"}}',
      'network.allowed_registries.npm',
      '"https://user:secret@npm.example/"',
    ],
  ])('a value that is not usable: %s', (yaml, key, value) => {
    const error = refusal(sandbox(yaml));
    expect(error.message).toMatch(/^\/home\/u\/config\.yaml: .+; it must be .+\.$/);
    expect(error.message).toContain(`${key} is ${value};`);
    expect(error.hint).not.toBe('');
    expect(error.details).toEqual({
      path: FILE.path,
      key,
      value,
      origin: `${key} in the user file ${FILE.path}`,
    });
  });

  it.each([
    ['sercurity: {}', 'sercurity', 'security'],
    ['security: {sandbx: {}}', 'security.sandbx', 'security.sandbox'],
    ['timeout_sec: 3', 'timeout_sec', 'security.sandbox.timeout_sec'],
    ['security: {timeout_sec: 3}', 'security.timeout_sec', 'security.sandbox.timeout_sec'],
    [sandbox('timeout: 3'), 'timeout', 'security.sandbox.timeout_sec'],
    [sandbox('timeoutSec: 3'), 'timeoutSec', 'security.sandbox.timeout_sec'],
    [sandbox('min-isolation: kernel'), 'min-isolation', 'security.sandbox.min_isolation'],
    [sandbox('SANDBOX_TYPE: local'), 'SANDBOX_TYPE', 'security.sandbox.type'],
    [sandbox('max_memory_mb: 3'), 'max_memory_mb', 'security.sandbox.limits.max_memory_mb'],
    [sandbox('limits: {memory_mb: 3}'), 'limits.memory_mb', 'security.sandbox.memory_mb'],
    [sandbox('"limits.max_memory_mb": 3'), 'limits.max_memory_mb', 'security.sandbox.limits.max_memory_mb'],
    [sandbox('languages: {pyton: {}}'), 'languages.pyton', 'security.sandbox.languages.python'],
    [
      sandbox('network: {alowed_domains: []}'),
      'network.alowed_domains',
      'security.sandbox.network.allowed_domains',
    ],
  ])('a key that is misspelt or misplaced: %s', (text, key, meant) => {
    const error = refusal(text);
    expect(error.message).toBe(
      `/home/u/config.yaml: "${key}" is no key that is known there; did you mean ${meant}?`,
    );
    expect(error.hint).toBe(`Write ${meant}, or remove "${key}".`);
    expect(error.details).toMatchObject({ path: FILE.path, key, origin: 'user file' });
  });

  it.each([
    'unheard: 1',
    'security: {unheard: 1}',
    sandbox('unheard: 1'),
    sandbox('limits: {unheard: 1}'),
    sandbox('hitl: {unheard: 1}'),
    '__proto__: {security: 1}',
    sandbox('__proto__: {enabled: false}'),
    sandbox('constructor: 1'),
    sandbox('<<: {enabled: false}'),
  ])('a key that nobody knows: %s', (text) => {
    const error = refusal(text);
    expect(error.message).toMatch(/" is no key that is known there\.$/);
    expect(error.hint).toMatch(/^Remove it; the keys that are known there: .+\.$/);
    expect(({} as { enabled?: unknown }).enabled).toBeUndefined();
  });

  it.each(
    SETTING_KEYS.flatMap((key) => {
      const { name, alias } = settingOf(key);
      return alias === undefined ? [] : [[name, alias.name] as const];
    }),
  )('%s together with %s', (name, alias) => {
    const line = (which: string) => NAMES[which]?.[0] ?? '';
    const error = refusal(sandbox(`${line(name)}, ${line(alias)}`));
    expect(error.message).toContain(`${name} and ${alias} are the same setting, and both are there`);
    expect(error.hint).toBe(`Keep ${name} and remove ${alias}.`);
  });

  it.each([
    ['- a', 'The file is ["a"]; it must be a mapping.'],
    ['text', 'The file is "text"; it must be a mapping.'],
    ['security:', 'security is null; it must be a mapping.'],
    ['security: {sandbox: [1]}', 'security.sandbox is [1]; it must be a mapping.'],
    [sandbox('limits: 3'), 'limits is 3; it must be a mapping.'],
    [sandbox('network: true'), 'network is true; it must be a mapping.'],
    [sandbox('languages: [python]'), 'languages is ["python"]; it must be a mapping.'],
    [sandbox('languages: {python: 3}'), 'languages.python is 3; it must be a mapping.'],
    [sandbox('hitl: false'), 'hitl is false; it must be a mapping.'],
  ])('something else where a mapping belongs: %s', (text, message) => {
    expect(refusal(text).message).toBe(`/home/u/config.yaml: ${message}`);
  });

  it.each([
    ['a: [', 'line 1, column 5: '],
    ['a: !foo b', 'line 1, column 4: Unresolved tag: !foo'],
    ['a: 1\n---\nb: 1', 'line 2, column 1: '],
    ['? [a]\n: 1', 'line 1, column 3: '],
    ['a: &x [1]\nb: *x', 'it uses an alias (*)'],
    ['a: &x [*x]', 'it uses an alias (*)'],
    ['['.repeat(500_000), 'it is nested too deeply'],
    ['- '.repeat(500_000), 'it is nested too deeply'],
    [Array.from({ length: 50_000 }, (_, index) => `k${index}: 1`).join('\n'), 'it has too many parts'],
  ])('YAML that cannot be read safely: %.20s', (text, reason) => {
    const error = refusal(text);
    expect(error.message).toContain(`/home/u/config.yaml: This is not YAML that can be read: ${reason}`);
    expect(error.details).toEqual({ path: FILE.path, origin: 'user file' });
  });

  it('a key that stands there twice', () => {
    const error = refusal('security:\n  sandbox:\n    memory_mb: 1\n    memory_mb: 2\n');
    expect(error.message).toBe(
      '/home/u/config.yaml: The key "memory_mb" stands there a second time, at line 4, column 5.',
    );
    expect(error.details).toMatchObject({ key: 'memory_mb' });
  });

  it('a long value, which the message cuts', () => {
    expect(refusal(sandbox(`type: ${'x'.repeat(9000)}`)).message.length).toBeLessThan(400);
  });
});

function sandbox(yaml: string): string {
  return `security: {sandbox: {${yaml}}}`;
}

function refusal(text: string): SandboxError {
  try {
    fileLayer(text, FILE);
  } catch (error) {
    if (error instanceof SandboxError && error.code === 'CONFIG_INVALID') return error;
    throw error;
  }
  throw new Error('Nothing was refused.');
}
