import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Enforced, Exit, Guest, ProgramLimits, Runtime, SandboxSpec } from '../runtimes/runtime.ts';
import type { LiveRunOptions } from './options.ts';
import { type ManagerEvent, SandboxManager, type SandboxManagerOptions } from './sandboxManager.ts';

const LIMITS = { memoryMb: 'engine', diskMb: 'engine', processes: 'engine', cpu: 'engine' } as const;

/** A runtime of guests without anything in them; programs run until they are killed. */
class Empty implements Runtime {
  readonly name = 'empty';
  readonly made: SandboxSpec[] = [];
  readonly limits: (ProgramLimits | undefined)[] = [];
  alive = 0;
  /** Guests wait for this before they are made. */
  gate: Promise<void> = Promise.resolve();
  lose: (reason: string) => void = () => {};

  async probe() {
    return {
      available: true,
      version: '1',
      capabilities: {
        ...{ isolation: 'container', network: ['none', 'allowlist'], filesystem: 'private' },
        ...{ processes: 'contained', seccomp: true, limits: { ...LIMITS, timeoutSec: 'timer' } },
      },
    } as Awaited<ReturnType<Runtime['probe']>>;
  }

  async create(spec: SandboxSpec): Promise<Guest> {
    this.made.push(spec);
    await this.gate;
    this.alive++;
    const held = { value: 1, by: 'engine', default: true } as const;
    const enforced: Enforced = {
      ...{ isolation: 'container', network: spec.policy.network, filesystem: 'private' },
      ...{ processes: 'contained', seccomp: true, uid: 1 },
      limits: { memoryMb: held, diskMb: held, processes: held, cpu: held, timeoutSec: held },
    };
    const ends = new Set<(exit: Exit) => void>();
    let gone = false;
    return {
      enforced,
      workspace: '/workspace',
      sharesLoopback: false,
      environment: {},
      lost: new Promise((resolve) => {
        this.lose = resolve;
      }),
      interpreter: async () => ({ path: '/bin/true', version: '1' }),
      spawn: async ({ limits }) => {
        this.limits.push(limits);
        let end: (exit: Exit) => void = () => {};
        const exit = new Promise<Exit>((resolve) => {
          end = resolve;
        });
        ends.add(end);
        return {
          stdout: Readable.from([Buffer.from('out')]),
          stderr: Readable.from([]),
          exit,
          kill: async (signal) => end({ code: signal === 'SIGKILL' ? 137 : 143, outOfMemory: false }),
        };
      },
      readFile: async () => new Uint8Array(),
      writeFile: async () => {},
      listFiles: async () => [],
      removeFile: async () => {},
      pack: async () => {
        throw new Error('not in this test');
      },
      unpack: async () => {
        throw new Error('not in this test');
      },
      destroy: async () => {
        if (!gone) this.alive--;
        gone = true;
        for (const end of ends) end({ code: 137, outOfMemory: false });
      },
    };
  }
}

/** Artifacts go there, and no settings are there. */
const folder = mkdtempSync(join(tmpdir(), 'manager-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

let runtime: Empty;
let events: ManagerEvent[];
beforeEach(() => {
  runtime = new Empty();
  events = [];
});

function manager(options: SandboxManagerOptions = {}): SandboxManager {
  return new SandboxManager({
    runtime,
    cwd: folder,
    onEvent: (event) => events.push(event),
    ...options,
  });
}

describe('a manager', () => {
  it('makes sandboxes with the defaults of ones that live, its own, and what each asks for', async () => {
    await using given = manager({ defaults: { limits: { memoryMb: 100, timeoutSec: 5 }, env: { A: '1' } } });
    await given.createSandbox();
    await given.createSandbox({ limits: { memoryMb: 50, processes: 7, diskMb: 10, cpu: 2 } });
    const limits = runtime.made.map(({ policy }) =>
      Object.fromEntries(Object.entries(policy.limits).map(([name, limit]) => [name, limit?.value])),
    );
    expect(limits).toMatchObject([
      { memoryMb: 100, diskMb: 1024, processes: 64, cpu: 0.5 },
      { memoryMb: 50, diskMb: 10, processes: 7, cpu: 2 },
    ]);
  });

  it('has 512 MB, half a core, 1 GB of disk, 30 s and 1 MiB of output where nobody says anything', async () => {
    await using given = manager();
    const id = await given.createSandbox();
    const running = given.executeCode(id, '', { onOutput: () => void given.destroySandbox(id) });
    expect((await running).meta.resourceLimits).toEqual({
      ...{ memoryMb: 512, cpu: 0.5, diskMb: 1024, timeoutSec: 30, maxOutputKb: 1024, processes: 64 },
    });
  });

  it('maps the network that is asked for', async () => {
    await using given = manager();
    await given.createSandbox({ networkEnabled: true, allowedDomains: ['a.test'] });
    await given.createSandbox({ networkEnabled: false });
    expect(runtime.made.map(({ policy }) => [policy.network, policy.egress?.allowedDomains])).toEqual([
      ['allowlist', ['a.test']],
      ['none', undefined],
    ]);
    await expect(
      given.createSandbox({ networkEnabled: false, allowedDomains: ['a.test'] }),
    ).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('knows its sandboxes by their ids, and why one is no more', async () => {
    await using given = manager();
    const id = await given.createSandbox({ sandboxId: 'my-own.1' });
    expect(id).toBe('my-own.1');
    expect(given.get(id).id).toBe(id);
    expect(given.list()).toMatchObject([{ id, runtime: 'empty', language: 'python', running: false }]);
    await expect(given.createSandbox({ sandboxId: id })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await given.destroySandbox(id);
    await given.destroySandbox(id);
    expect(given.list()).toEqual([]);
    await expect(given.executeCode(id, '')).rejects.toMatchObject({
      code: 'SANDBOX_NOT_FOUND',
      message: 'There is no sandbox "my-own.1" any more: it was destroyed.',
    });
    for (const operation of [
      given.executeCode('other', ''),
      given.destroySandbox('other'),
      given.readFile('other', 'a'),
    ])
      await expect(operation).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
    // The name of one that is gone is free again.
    expect(await given.createSandbox({ sandboxId: id })).toBe(id);
    expect(given.list()).toHaveLength(1);
    expect(events.map(({ type, sandboxId }) => [type, sandboxId])).toEqual([
      ['created', id],
      ['ended', id],
      ['created', id],
    ]);
  });

  it.each(['', '.hidden', '../up', 'a b', 'ä', 'x'.repeat(65), 'a/b', '-a'])(
    'refuses the id %j',
    async (sandboxId) => {
      await using given = manager();
      await expect(given.createSandbox({ sandboxId })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
      expect(runtime.made).toEqual([]);
    },
  );

  it('makes no more than it may at a time, however many are asked for at once', async () => {
    await using given = manager({ maxSandboxes: 3 });
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => given.createSandbox()));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(runtime.alive).toBe(3);
    const refused = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason);
    expect(refused[0]).toMatchObject({ code: 'QUOTA_EXCEEDED', details: { sandboxes: 3, max: 3 } });
    const [first] = given.list();
    await given.destroySandbox(first?.id ?? '');
    await given.createSandbox();
    expect(runtime.alive).toBe(3);
  });

  it('leaves a place free where a sandbox could not be made', async () => {
    await using given = manager({ maxSandboxes: 1 });
    runtime.gate = Promise.reject(new Error('no'));
    runtime.gate.catch(() => {});
    await expect(given.createSandbox()).rejects.toThrow('no');
    runtime.gate = Promise.resolve();
    await given.createSandbox();
  });

  it('closes all, those that are being made too, and refuses everything afterwards', async () => {
    const given = manager();
    const id = await given.createSandbox();
    const running = given.executeCode(id, '');
    let open = (): void => {};
    runtime.gate = new Promise((resolve) => {
      open = resolve;
    });
    const making = [given.createSandbox(), given.createSandbox()];
    for (const promise of making) promise.catch(() => {});
    while (runtime.made.length < 3) await new Promise(setImmediate);
    const closing = given.close();
    expect(() => given.get('x')).toThrow(expect.objectContaining({ code: 'SANDBOX_CLOSED' }));
    open();
    await closing;
    expect(runtime.alive).toBe(0);
    for (const promise of making) {
      await expect(promise).rejects.toMatchObject({
        code: 'SANDBOX_CLOSED',
        details: { reason: 'manager_closed' },
      });
    }
    expect((await running).outcome).toBe('killed');
    await expect(given.createSandbox()).rejects.toMatchObject({ code: 'SANDBOX_CLOSED' });
    expect(() => given.get(id)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ reason: 'manager_closed' }) }),
    );
    expect(events.at(-1)).toMatchObject({ type: 'ended', sandboxId: id, reason: 'manager_closed' });
    await given.close();
  });

  it('makes nothing that was cancelled meanwhile', async () => {
    await using given = manager();
    const cancel = new AbortController();
    let open = (): void => {};
    runtime.gate = new Promise((resolve) => {
      open = resolve;
    });
    const making = given.createSandbox({ signal: cancel.signal });
    making.catch(() => {});
    while (runtime.made.length < 1) await new Promise(setImmediate);
    cancel.abort(new Error('no more'));
    open();
    await expect(making).rejects.toThrow('no more');
    expect(runtime.alive).toBe(0);
  });

  it('says that a sandbox crashed when the runtime lost it', async () => {
    await using given = manager();
    const id = await given.createSandbox();
    const sandbox = given.get(id);
    runtime.lose('somebody took it away.');
    expect(await sandbox.whenEnded).toMatchObject({
      reason: 'crashed',
      message: 'It crashed: somebody took it away.',
    });
    await expect(given.listFiles(id)).rejects.toMatchObject({
      code: 'SANDBOX_CLOSED',
      details: { reason: 'crashed' },
    });
    expect(runtime.alive).toBe(0);
  });

  it('runs no more background processes in a sandbox than it may', async () => {
    await using given = manager();
    const sandbox = given.get(await given.createSandbox());
    const started = [];
    for (let n = 0; n < 64; n++) started.push(await sandbox.start(['sleep', '1']));
    await expect(sandbox.start(['sleep', '1'])).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      details: { running: 64, max: 64 },
    });
    await started[0]?.kill();
    await sandbox.start(['sleep', '1']);
    expect(sandbox.processes()).toHaveLength(65);
    expect(sandbox.processes()[0]?.status).toBe('killed');
  });

  it('hands limits of one execution down, and tells them in its result', async () => {
    await using given = manager();
    const id = await given.createSandbox({ limits: { memoryMb: 200 } });
    const run = (options: LiveRunOptions) =>
      given.executeCode(id, '', { ...options, timeout: 0.05 }).then(({ meta }) => meta);
    const lowered = await run({ maxMemoryMb: 100, maxProcesses: 5, maxOutputBytes: 2048 });
    expect(lowered.resourceLimits).toMatchObject({
      memoryMb: 100,
      processes: 5,
      timeoutSec: 0.05,
      maxOutputKb: 2,
    });
    expect(lowered.enforced?.limits).toMatchObject({
      memoryMb: { value: 100, by: 'engine', default: false },
      processes: { value: 5, by: 'engine', default: false },
    });
    const cut = await run({ maxMemoryMb: 300 });
    expect(cut.resourceLimits.memoryMb).toBe(200);
    expect(cut.warnings).toEqual([
      'maxMemoryMb of 300 was cut to 200, which is what the sandbox was made with.',
    ]);
    expect(runtime.limits).toEqual([{ memoryMb: 100, processes: 5, timeoutSec: 0.05 }, { timeoutSec: 0.05 }]);
    await expect(run({ maxOutputBytes: 1, maxOutputKb: 1 })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('is not disturbed by whoever listens', async () => {
    const warned = new Promise((resolve) => process.once('warning', resolve));
    await using given = manager({
      onEvent() {
        throw new Error('of the listener');
      },
    });
    await given.createSandbox();
    expect(await warned).toMatchObject({ message: 'of the listener' });
    expect(given.list()).toHaveLength(1);
  });

  it.each([{ maxSandboxes: 0 }, { defaults: { limits: { memoryMb: -1 } } }, { unknown: 1 }])(
    'refuses %j',
    (options) => {
      expect(() => new SandboxManager(options as SandboxManagerOptions)).toThrow(
        expect.objectContaining({ code: 'INPUT_INVALID' }),
      );
    },
  );
});
