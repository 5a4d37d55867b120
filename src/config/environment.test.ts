import { describe, expect, it } from 'vitest';
import { SandboxError } from '../errors.ts';
import { environmentLayer, unknownVariables } from './environment.ts';
import { refuseLookalikes } from './lookalikes.ts';
import { SETTING_KEYS, type SettingKey, settingOf } from './settings.ts';

/** Every variable with usable texts and what they mean, and texts that must be refused. */
const VARIABLES: Partial<Record<SettingKey, { good: [string, unknown][]; bad: string[] }>> = {
  type: {
    good: ['local', 'bubblewrap', 'docker', 'gvisor', 'microsandbox', 'e2b', 'kubernetes', 'wasm'].map(
      (name) => [name, name],
    ),
    bad: ['runsc', 'Docker', 'podman', '__proto__', ' local'],
  },
  timeoutSec: {
    good: [
      ['30', 30],
      ['2.5', 2.5],
      ['0.1', 0.1],
    ],
    bad: ['abc', '1e3', '0x10', 'NaN', 'Infinity', '-1', '0', '0.0', '+5', ' 5', '5s', '1_000', '2147484'],
  },
  lifetimeSec: { good: [['60', 60]], bad: ['0', '-1', 'abc'] },
  idleTimeoutSec: { good: [['1.5', 1.5]], bad: ['0', '-1', 'abc'] },
  keptOutputMb: { good: [['1', 1]], bad: ['0', '-1', '1.5', 'abc'] },
  packagesEnabled: {
    good: [
      ['true', true],
      ['0', false],
    ],
    bad: ['open', 'none'],
  },
  maxSandboxes: { good: [['2', 2]], bad: ['0', '-1', '1.5', 'abc'] },
  maxTimeoutSec: { good: [['7200', 7200]], bad: ['0', '-1', 'abc'] },
  maxOutputKb: { good: [['0.5', 0.5]], bad: ['0', '1e3', '1000000001'] },
  minIsolation: {
    good: ['process', 'namespace', 'container', 'kernel', 'machine'].map((name) => [name, name]),
    bad: ['vm', 'none'],
  },
  localIsolation: { good: ['auto', 'namespace', 'none'].map((name) => [name, name]), bad: ['process'] },
  fallback: { good: [['local', 'local']], bad: ['none'] },
  blockDangerousImports: {
    good: [
      ['true', 'true'],
      ['1', 'true'],
      ['yes', 'true'],
      ['false', 'false'],
      ['0', 'false'],
      ['no', 'false'],
      ['warn', 'warn'],
    ],
    bad: ['on', 'TRUE', 'toString'],
  },
  blockedImports: {
    good: [
      ['os', ['os']],
      ['python:os, javascript:node:fs,requests,os,os', ['python:os', 'javascript:node:fs', 'requests', 'os']],
    ],
    bad: ['os,', ',', 'shell:curl', 'ruby:os', 'python:', 'a b'],
  },
  storeCode: { good: ['always', 'on_error', 'never'].map((name) => [name, name]), bad: ['on-error', 'true'] },
  audit: { good: ['auto', 'on', 'off'].map((name) => [name, name]), bad: ['true', 'ON'] },
  warm: { good: ['on', 'auto', 'off'].map((name) => [name, name]), bad: ['true', 'OFF'] },
  auditDir: {
    good: [
      ['/a', '/a'],
      ['a', '/place/a'],
    ],
    bad: ['~/a'],
  },
  auditFsync: { good: ['always', 'never'].map((name) => [name, name]), bad: ['true', 'often'] },
  auditMaxFileMb: { good: [['16', 16]], bad: ['0', '-1', '5000', 'x'] },
  gate: {
    good: ['off', 'trusted', 'ask-on-danger', 'strict'].map((name) => [name, name]),
    bad: ['on', 'true', 'ask_on_danger'],
  },
  artifactsDir: {
    good: [
      ['kept', '/place/kept'],
      ['/var/kept', '/var/kept'],
    ],
    bad: ['~/kept', 'a\u0000b'],
  },
  supportedLanguages: {
    good: [
      ['python', ['python']],
      ['shell,python,shell', ['shell', 'python']],
    ],
    bad: ['ruby', 'python,', 'Python'],
  },
  memoryMb: { good: [['64', 64]], bad: ['64.5', '0', '64MB', '-64'] },
  diskMb: { good: [['64', 64]], bad: ['0.5', '0'] },
  maxProcesses: { good: [['8', 8]], bad: ['1.5', '0'] },
  cpuLimit: { good: [['0.5', 0.5]], bad: ['0', '50%'] },
  python: {
    good: [
      ['python3.11', 'python3.11'],
      ['venv/bin/python', '/place/venv/bin/python'],
      ['/usr/bin/python3', '/usr/bin/python3'],
    ],
    bad: ['~/bin/python'],
  },
  node: { good: [['/opt/node', '/opt/node']], bad: ['a\nb'] },
  bash: { good: [['bash', 'bash']], bad: ['~'] },
  dockerImage: {
    good: [
      'glovebox-sandbox:latest',
      'python:3.11-slim',
      'localhost:5000/team/python',
      'Host.example/a__b/c--d',
      `a@sha256:${'0'.repeat(64)}`,
      `sha256:${'f'.repeat(64)}`,
    ].map((name) => [name, name]),
    bad: ['-v', 'Python', 'a b', 'a:', 'a/', '/a', 'a:b:c', 'a;b', 'a@sha256:0', '../a'],
  },
  dockerRuntime: {
    good: [
      ['runsc', 'runsc'],
      ['io.containerd.runsc.v1', 'io.containerd.runsc.v1'],
    ],
    bad: ['/usr/bin/runsc', '--privileged', 'a b'],
  },
  dockerNetworkEnabled: {
    good: [
      ['true', true],
      ['0', false],
    ],
    bad: ['open', 'none'],
  },
  dockerCpuLimit: { good: [['1.5', 1.5]], bad: ['0', '-1', '1e3'] },
  dockerMemoryLimitMb: {
    good: [
      ['256m', 256],
      ['1g', 1024],
      ['1.5G', 1536],
      ['6144k', 6],
      ['8388608b', 8],
      ['8388608', 8],
    ],
    bad: ['256', '256mb', '0', '-1g', '5m', '1e9', '0x10000000', '256 m', 'm', '9999999999g', 'NaN'],
  },
  dockerSeccompProfile: {
    good: [
      ['profile.json', '/place/profile.json'],
      ['/etc/profile.json', '/etc/profile.json'],
    ],
    bad: ['~/profile.json', 'unconfined', 'Unconfined', 'builtin'],
  },
  dockerSecurityOpt: {
    good: [
      ['apparmor=mine', ['apparmor=mine']],
      ['label=type:mine_t, label:user:system_u', ['label=type:mine_t', 'label:user:system_u']],
      ['no-new-privileges', ['no-new-privileges']],
      ['no-new-privileges=true,no-new-privileges:true', ['no-new-privileges']],
    ],
    bad: [
      ...['unconfined', 'apparmor=unconfined', 'apparmor:unconfined', 'apparmor=UnConfined'],
      ...['apparmor=mine//&unconfined', 'apparmor=', 'apparmor', 'APPARMOR=mine'],
      ...['seccomp=unconfined', 'seccomp:unconfined', 'seccomp=/a.json', 'seccomp=builtin', 'seccomp'],
      ...['label=disable', 'label:disable', 'disable', 'label=nested', 'label=', 'label=Disable'],
      ...['label=type:unconfined_t', 'label=role:unconfined_r', 'label=type:spc_t', 'label=type:a=disable'],
      ...['label=type:container_runtime_t', 'label=mine_t'],
      ...['systempaths=unconfined', 'systempaths=none', 'mask=/proc', 'unmask=ALL', 'writable-cgroups=true'],
      ...['no-new-privileges=false', 'no-new-privileges:false', 'no-new-privileges=0', 'no-new-privileges='],
      ...['apparmor=mine,label=disable', 'apparmor=mine,', ','],
    ],
  },
  gvisorRoot: { good: [['root', '/place/root']], bad: ['~/root'] },
};

describe('environmentLayer', () => {
  it('has a case here for every setting with a variable', () => {
    const withVariable = SETTING_KEYS.filter((key) => settingOf(key).variable !== undefined);
    expect(Object.keys(VARIABLES).sort()).toEqual([...withVariable].sort());
  });

  it.each(
    Object.entries(VARIABLES).flatMap(([key, { good }]) =>
      good.map(([text, value]) => ({ key, text, value })),
    ),
  )('reads $key from $text', ({ key, text, value }) => {
    const name = settingOf(key as SettingKey).variable as string;
    expect(environmentLayer({ [name]: text }, '/place')).toEqual({
      entries: [{ key, value, written: text, origin: { kind: 'environment', name } }],
      onlyTightens: false,
    });
  });

  it.each(Object.entries(VARIABLES).flatMap(([key, { bad }]) => bad.map((text) => ({ key, text }))))(
    'refuses $text for $key',
    ({ key, text }) => {
      const name = settingOf(key as SettingKey).variable as string;
      const error = refusal(() => environmentLayer({ [name]: text }, '/place'));
      expect(error.code).toBe('CONFIG_INVALID');
      expect(error.message).toMatch(new RegExp(`^${name} is ".*"; it must be .+\\.$`));
      expect(error.hint).toContain(`unset ${name}`);
      expect(error.details).toMatchObject({ key: name, origin: `environment variable ${name}` });
    },
  );

  it('says what is allowed, with the value as it was written', () => {
    const number = refusal(() => environmentLayer({ SANDBOX_TIMEOUT_SEC: '1e3' }, '/place'));
    expect(number.message).toBe(
      'SANDBOX_TIMEOUT_SEC is "1e3"; it must be a number above 0 and at most 2147483, in plain digits.',
    );
    const word = refusal(() => environmentLayer({ SANDBOX_MIN_ISOLATION: 'vm' }, '/place'));
    expect(word.message).toBe(
      'SANDBOX_MIN_ISOLATION is "vm"; it must be one of process, namespace, container, kernel, machine.',
    );
  });

  it.each([
    ['seccomp=unconfined', 'DOCKER_SECCOMP_PROFILE'],
    ['apparmor=mine, apparmor=unconfined', 'nothing may run unconfined'],
    ['label=disable', 'the labels of SELinux may not be switched off'],
    ['systempaths=unconfined', 'systempaths uncovers'],
    ['no-new-privileges=false', 'new privileges are never allowed'],
    ['label=type:spc_t', 'holds nothing back'],
    ['mask=/proc', '"mask=/proc" is none of them'],
  ])('says why %s is refused', (text, reason) => {
    const error = refusal(() => environmentLayer({ DOCKER_SECURITY_OPT: text }, '/place'));
    expect(error.message).toContain(reason);
  });

  it('says that a bare number is bytes', () => {
    const error = refusal(() => environmentLayer({ DOCKER_MEMORY_LIMIT: '256' }, '/place'));
    expect(error.message).toMatch(/: a number without a suffix is bytes\.$/);
  });

  it('takes an empty variable as unset', () => {
    const environment = { SANDBOX_TIMEOUT_SEC: '', SANDBOX_TIMEOUT: '' };
    expect(environmentLayer(environment, '/place').entries).toEqual([]);
    expect(unknownVariables(environment)).toEqual([]);
  });
});

describe('refuseLookalikes', () => {
  it.each([
    ['SANDBOX_TIMEOUT', 'SANDBOX_TIMEOUT_SEC'],
    ['SANDBOX_TPYE', 'SANDBOX_TYPE'],
    ['SANDBOX_MIN_ISOLATON', 'SANDBOX_MIN_ISOLATION'],
    ['SANDBOX_MEMORY', 'SANDBOX_MEMORY_MB'],
    ['SANDBOX_TYPE_NAME', 'SANDBOX_TYPE'],
    ['SANDBOX_RUNTIME', 'SANDBOX_TYPE'],
    ['SANDBOX_MAX_MEMORY_MB', 'SANDBOX_MEMORY_MB'],
    ['SANDBOX_DOCKER_IMAGE', 'DOCKER_IMAGE'],
    ['SANDBOX_DOCKER_MEMORY_LIMIT', 'DOCKER_MEMORY_LIMIT'],
    ['SANDBOX_GVISOR_ROOT', 'GVISOR_ROOT'],
    ['SANDBOX_ENABLED', 'security.sandbox.enabled in a configuration file'],
    ['GLOVEBOX_CONFG', 'GLOVEBOX_CONFIG'],
  ])('refuses %s and names %s', (name, meant) => {
    const environment = { [name]: 'x' };
    const error = refusal(() => refuseLookalikes(unknownVariables(environment), environment));
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.message).toBe(`${name} is no setting; ${meant} is meant, perhaps.`);
    expect(error.hint).toBe(`Use ${meant} instead, or unset ${name}.`);
  });

  it.each([
    'DOCKER_HOST',
    'DOCKER_CONTEXT',
    'DOCKER_CONFIG',
    'DOCKER_TLS_VERIFY',
    'DOCKER_CERT_PATH',
    'DOCKER_BUILDKIT',
    'DOCKER_API_VERSION',
    'DOCKER_IMAGES',
    'DOCKER_IMAGE_NAME',
    'DOCKER_RUNTIMES',
    'GVISOR_ROOTS',
  ])("leaves %s alone, which is somebody else's", (name) => {
    const environment = { [name]: 'x' };
    expect(() => refuseLookalikes(unknownVariables(environment), environment)).not.toThrow();
    expect(environmentLayer(environment, '/place').entries).toEqual([]);
  });

  it('leaves variables of somebody else alone', () => {
    const environment = { SANDBOX_SOMETHING_ELSE: 'x', MY_SANDBOX_TYPE: 'x', SANDBOX_TIMEOUTS_ARE_FUN: 'x' };
    expect(() => refuseLookalikes(unknownVariables(environment), environment)).not.toThrow();
  });

  it('does not take our own variables for unknown ones', () => {
    expect(unknownVariables({ SANDBOX_TYPE: 'local', GLOVEBOX_CONFIG: 'x', SANDBOX_AUDIT_DIR: 'x' })).toEqual(
      [],
    );
  });
});

function refusal(action: () => unknown): SandboxError {
  try {
    action();
  } catch (error) {
    if (error instanceof SandboxError) return error;
    throw error;
  }
  throw new Error('Nothing was refused.');
}
