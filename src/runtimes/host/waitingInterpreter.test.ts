import { describe, expect, it } from 'vitest';
import type { Command, SandboxSpec } from '../runtime.ts';
import { trialSpec } from './trialSpec.ts';
import { prepareInterpreter, programArguments, suitsWaiting, wishedWaiting } from './waitingInterpreter.ts';

const warm = { language: 'python', preload: [] } as const;
const spec: SandboxSpec = { ...trialSpec(), singleUse: true, warm };
const relay = { port: 0, attach: () => Promise.reject(new Error('not here')) };
const command: Command = { argv: ['/usr/bin/python3', '-u', '-B', '/workspace/main.py', 'a', 'b'], env: {} };

describe('an interpreter that waits in the sandbox of an engine', () => {
  it('is wished where one program of a language that can wait is all that will run', () => {
    expect(wishedWaiting(spec, ['python', 'shell'])).toEqual(warm);
    expect(wishedWaiting(spec, ['shell'])).toBe(undefined);
    expect(wishedWaiting({ ...spec, relay }, ['python'])).toBe(undefined);
    expect(wishedWaiting({ ...spec, singleUse: false }, ['python'])).toBe(undefined);
  });

  it('suits a program that may have no less than the sandbox, but for its time', () => {
    const { value } = spec.policy.limits.timeoutSec;
    expect(suitsWaiting(command, spec)).toBe(true);
    expect(suitsWaiting({ ...command, limits: { timeoutSec: value } }, spec)).toBe(true);
    expect(suitsWaiting({ ...command, limits: { timeoutSec: value + 1 } }, spec)).toBe(false);
    expect(suitsWaiting({ ...command, limits: { memoryMb: 1 } }, spec)).toBe(false);
    expect(suitsWaiting({ ...command, relay }, spec)).toBe(false);
  });

  it('takes the arguments of the one command that it was started for', async () => {
    const prepared = await prepareInterpreter(
      {
        workspace: '/workspace',
        environment: {},
        interpreter: async () => ({ path: '/usr/bin/python3', version: '3' }),
      },
      warm,
    );
    expect(programArguments(command, prepared)).toEqual(['a', 'b']);
    for (const argv of [['/usr/bin/python3', '-c', 'x'], ['/bin/sh']] as [string, ...string[]][]) {
      expect(() => programArguments({ ...command, argv }, prepared)).toThrow(/waits for/);
    }
    expect(() => programArguments({ ...command, env: { A: 'x\0y' } }, prepared)).toThrow(/NUL/);
  });
});
