import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { LiveRunOptions, PolicyOptions } from '../operations/options.ts';
import type { ServiceSandboxOptions } from '../operations/sandboxService.ts';
import { executionJson, liveExecutionJson, processJson, sandboxJson } from './requests.ts';

/** As it travels: what is not given is not there. */
function sent(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json));
}

const policy: Required<Omit<PolicyOptions, 'onNetwork' | 'network'>> = {
  ...{ memoryMb: 1, diskMb: 2, maxProcesses: 3, cpu: 4, networkEnabled: true, allowedDomains: ['a.test'] },
  minIsolation: 'container',
  requires: { isolation: 'namespace', seccomp: true, limits: ['memoryMb', 'timeoutSec', 'cpu'] },
};

const policyJson = {
  ...{ network_enabled: true, allowed_domains: ['a.test'], min_isolation: 'container' },
  requires: { isolation: 'namespace', seccomp: true, limits: ['memory_mb', 'timeout_sec', 'cpu'] },
};

describe('what is asked of a server', () => {
  it('names every option in snake_case, and no key of a map', async () => {
    const options: LiveRunOptions = {
      ...{ language: 'python', timeout: 5, maxOutputKb: 1.5, args: ['a'], collect: ['myFile'] },
      env: { camelCase: '1', snake_case: '2' },
      files: { 'in/myFile': 'é', my_file: Uint8Array.of(255) },
      stdin: Uint8Array.of(255),
    };
    const program = {
      ...{ language: 'python', timeout: 5, max_output_bytes: 1536, args: ['a'], collect: ['myFile'] },
      env: { camelCase: '1', snake_case: '2' },
      files: {
        'in/myFile': { content: 'é', encoding: 'utf8' },
        my_file: { content: '/w==', encoding: 'base64' },
      },
      stdin_base64: '/w==',
    };
    expect(sent(await executionJson({ code: 'x' }, { ...options, ...policy }))).toEqual({
      ...{ ...program, ...policyJson, code: 'x' },
      ...{ memory_mb: 1, disk_mb: 2, max_processes: 3, cpu: 4 },
    });
    const limits = { maxMemoryMb: 5, maxProcesses: 6 };
    expect(sent(await liveExecutionJson({ command: ['ls'] }, { ...options, ...limits }))).toEqual({
      ...{ ...program, command: ['ls'], max_memory_mb: 5, max_processes: 6 },
    });
  });

  it('is only what was given', async () => {
    expect(sent(await executionJson({ code: Uint8Array.of(255) }, {}))).toEqual({ code_base64: '/w==' });
    expect(sent(processJson({ command: ['ls'] }, {}))).toEqual({ command: ['ls'] });
    expect(sent(sandboxJson({}))).toEqual({});
  });

  it('describes a sandbox', () => {
    const { networkEnabled, allowedDomains, minIsolation, requires } = policy;
    const options: ServiceSandboxOptions = {
      ...{ sandboxId: 'a', language: 'shell', lifetime: 1, idleTimeout: 2, env: { a_B: 'c' } },
      ...{ networkEnabled, allowedDomains, minIsolation, requires },
      limits: { memoryMb: 1, cpu: 2, diskMb: 3, processes: 4, timeoutSec: 5, maxOutputBytes: 6 },
    };
    expect(sent(sandboxJson(options))).toEqual({
      ...{ sandbox_id: 'a', language: 'shell', lifetime: 1, idle_timeout: 2, env: { a_B: 'c' } },
      ...policyJson,
      limits: { memory_mb: 1, cpu: 2, disk_mb: 3, processes: 4, timeout_sec: 5, max_output_bytes: 6 },
    });
  });

  it('says by network_enabled what network means, and refuses what a server never gives', () => {
    const wanted = (network: 'none' | 'allowlist' | 'open') => sent(sandboxJson({ network }));
    expect([wanted('none'), wanted('allowlist')]).toEqual([
      { network_enabled: false },
      { network_enabled: true },
    ]);
    expect(() => wanted('open')).toThrow(expect.objectContaining({ code: 'POLICY_DENIED' }));
  });

  it('holds input that is a stream as a whole, up to a bound', async () => {
    const text = await liveExecutionJson({ code: '' }, { stdin: Readable.from(['a', Buffer.from('b')]) });
    expect(text).toMatchObject({ stdin_base64: Buffer.from('ab').toString('base64') });
    const long = Readable.from(Array.from({ length: 17 }, () => Buffer.alloc(1024 ** 2)));
    await expect(liveExecutionJson({ code: '' }, { stdin: long })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
  });

  it('says how a process is fed', () => {
    const fed = (stdin: 'stream' | Uint8Array | Readable) =>
      sent(processJson({ command: ['cat'] }, { stdin }));
    const streamed = { command: ['cat'], stdin: 'stream' };
    expect([fed('stream'), fed(Readable.from([])), fed(Uint8Array.of(255))]).toEqual([
      streamed,
      streamed,
      { command: ['cat'], stdin_base64: '/w==' },
    ]);
  });
});
