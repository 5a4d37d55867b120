import { expect, it } from 'vitest';
import type { ExecutionResult } from './result.ts';
import { resultToJson } from './resultJson.ts';

const wanted = { memoryMb: 512, diskMb: 256, processes: 64, cpu: null, timeoutSec: 30, maxOutputKb: 10 };

const minimal: ExecutionResult = {
  stdout: 'hi\n',
  stderr: '',
  exitCode: 0,
  duration: 0.25,
  truncated: false,
  timedOut: false,
  outcome: 'exited',
  ok: true,
  meta: {
    runtime: 'local',
    language: 'python',
    enforced: null,
    truncated: false,
    timedOut: false,
    blockedImports: [],
    resourceLimits: wanted,
    stdoutBytes: 3,
    stderrBytes: 0,
    versions: {},
    sandboxId: null,
    executionId: 'e1',
  },
};

const wantedJson = {
  memory_mb: 512,
  disk_mb: 256,
  processes: 64,
  cpu: null,
  timeout_sec: 30,
  max_output_kb: 10,
};

const minimalJson = {
  stdout: 'hi\n',
  stderr: '',
  exit_code: 0,
  duration: 0.25,
  truncated: false,
  timed_out: false,
  outcome: 'exited',
  ok: true,
  meta: {
    runtime: 'local',
    language: 'python',
    enforced: null,
    truncated: false,
    timed_out: false,
    blocked_imports: [],
    resource_limits: wantedJson,
    stdout_bytes: 3,
    stderr_bytes: 0,
    versions: {},
    sandbox_id: null,
    execution_id: 'e1',
  },
};

it('writes what there is and leaves out what is absent', () => {
  expect(resultToJson(minimal)).toStrictEqual(minimalJson);
});

it('writes every field there can be', () => {
  const limit = { value: 512, by: 'cgroup', default: true } as const;
  // `Required`: a field that is added to the result has to be added here too.
  const everything: Required<ExecutionResult> & { meta: Required<ExecutionResult['meta']> } = {
    ...minimal,
    files: {},
    meta: {
      ...minimal.meta,
      fallbackFrom: 'docker',
      warm: 'fork_server',
      root: { kind: 'image', name: 'x', id: 'sha256:1' },
      enforced: {
        isolation: 'namespace',
        network: 'none',
        filesystem: 'private',
        processes: 'contained',
        seccomp: true,
        securityOptions: ['no-new-privileges'],
        uid: 1000,
        limits: { memoryMb: limit, diskMb: limit, processes: limit, cpu: limit, timeoutSec: limit },
      },
      findings: [{ kind: 'dangerous_call', name: 'os.system', line: 3, message: 'Starts a shell.' }],
      record: { seq: 7, hash: 'a' },
      artifact: '/a.json',
      network: {
        decisions: [
          {
            ...{ at: '2026-01-01T00:00:00.000Z', host: 'a.test', port: 443, via: 'connect', method: 'GET' },
            ...{ allowed: false, code: 'not_listed', reason: 'No.', address: '192.0.2.1' },
            ...{ bytesUp: 1, bytesDown: 2, durationSec: 0.5 },
          },
        ],
        dropped: 3,
        bytesUp: 1,
        bytesDown: 2,
      },
      usage: { cpuSec: 0.1, peakMemoryMb: 9 },
      killedBy: 'file_size',
      signal: 25,
      oomKills: 1,
      notCollected: { 'noSuch.txt': 'It is not there.' },
      versions: { thePython: '3.12' },
      warnings: ['Clamped.'],
    },
  };
  expect(resultToJson(everything)).toStrictEqual({
    ...minimalJson,
    files: {},
    meta: {
      ...minimalJson.meta,
      fallback_from: 'docker',
      warm: 'fork_server',
      root: { kind: 'image', name: 'x', id: 'sha256:1' },
      enforced: {
        isolation: 'namespace',
        network: 'none',
        filesystem: 'private',
        processes: 'contained',
        seccomp: true,
        security_options: ['no-new-privileges'],
        uid: 1000,
        limits: { memory_mb: limit, disk_mb: limit, processes: limit, cpu: limit, timeout_sec: limit },
      },
      findings: [{ kind: 'dangerous_call', name: 'os.system', line: 3, message: 'Starts a shell.' }],
      record: { seq: 7, hash: 'a' },
      artifact: '/a.json',
      network: {
        decisions: [
          {
            ...{ at: '2026-01-01T00:00:00.000Z', host: 'a.test', port: 443, via: 'connect', method: 'GET' },
            ...{ allowed: false, code: 'not_listed', reason: 'No.', address: '192.0.2.1' },
            ...{ bytes_up: 1, bytes_down: 2, duration_sec: 0.5 },
          },
        ],
        dropped: 3,
        bytes_up: 1,
        bytes_down: 2,
      },
      usage: { cpu_sec: 0.1, peak_memory_mb: 9 },
      killed_by: 'file_size',
      signal: 25,
      oom_kills: 1,
      not_collected: { 'noSuch.txt': 'It is not there.' },
      versions: { thePython: '3.12' },
      warnings: ['Clamped.'],
    },
  });
});

it('writes files as text where they are text, else as base64, and never touches their names', () => {
  const files = Object.fromEntries([
    ['myChart.png', Uint8Array.of(0x89, 0xff)],
    ['__proto__', Buffer.from('é')],
  ]);
  const json = resultToJson({ ...minimal, files })['files'] as object;
  expect(Object.entries(json)).toEqual([
    ['myChart.png', { encoding: 'base64', content: 'if8=', size: 2 }],
    ['__proto__', { encoding: 'utf8', content: 'é', size: 2 }],
  ]);
});
