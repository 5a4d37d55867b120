/** A server, used as a manager of this process is. */
import { z } from 'zod';
import { isSandboxError, SandboxError } from '../errors.ts';
import { checkOptions } from '../operations/checkOptions.ts';
import type { OneShotSandbox } from '../operations/getSandbox.ts';
import { checkCode } from '../operations/options.ts';
import type { ManagedSandboxOptions } from '../operations/sandboxManager.ts';
import type { SandboxHandle, SandboxInfo, SandboxService } from '../operations/sandboxService.ts';
import { resultSchema } from '../result/resultFromJson.ts';
import type { EndReason } from '../sandbox/ended.ts';
import { serverOf } from './address.ts';
import { unreachable } from './errors.ts';
import { runOn } from './execution.ts';
import { sandboxPath } from './paths.ts';
import { KnownEnd, placeOf } from './place.ts';
import { executionJson, sandboxJson } from './requests.ts';
import { operationsOn, remoteSandbox, type SandboxOperations } from './sandbox.ts';
import { clientClosed, Transport } from './transport.ts';
import { unlessAborted } from './unlessAborted.ts';
import { type SandboxAnswer, sandboxAnswer, sandboxesAnswer } from './wire.ts';
import { withMissed } from './withMissed.ts';

export interface ConnectOptions {
  /** A key of the server's; it is sent to nobody else, and no message holds it. */
  readonly apiKey: string;
  /** Sends the key over `http://` to a host that is not this machine, where everybody on the way can read it. */
  readonly allowInsecure?: boolean;
  /** Seconds for which a server that was there is waited for after a cut; 60 by default. */
  readonly reconnectSec?: number;
  /**
   * Seconds for which a single answer is waited for, and with it a person who is asked; 150 by default. An execution takes
   * as long as it takes.
   */
  readonly requestTimeoutSec?: number;
}

/** The sandboxes of a server that a key may see, and single runs there. */
export interface RemoteSandboxManager extends SandboxService, OneShotSandbox {
  get(id: string): Promise<SandboxHandle>;
  list(): Promise<readonly SandboxInfo[]>;
}

/**
 * Uses the sandboxes of a `glovebox serve` as those of a `SandboxManager`. Nothing is asked before the first call, which
 * throws `RUNTIME_UNAVAILABLE` where nobody answers and `UNAUTHENTICATED` where the key is none. Throws `INPUT_INVALID`
 * for an address or a key that is not usable.
 */
export function connect(url: string | URL, options: ConnectOptions): RemoteSandboxManager {
  const { apiKey, allowInsecure = false, reconnectSec = 60, requestTimeoutSec = 150 } = checked(options);
  const transport = new Transport(serverOf(url, apiKey, allowInsecure), { reconnectSec, requestTimeoutSec });
  const made = new Set<string>();
  const making = new Set<Promise<unknown>>();
  const ends = new Map<string, KnownEnd>();
  let closing: Promise<void> | undefined;

  const assertOpen = (): void => {
    if (closing !== undefined) throw clientClosed();
  };
  const describe = async (id: string): Promise<SandboxAnswer> =>
    transport.json({ path: sandboxPath(id) }, sandboxAnswer);
  const on = (id: string): SandboxOperations => {
    assertOpen();
    return operationsOn(placeOf(transport, id), () => describe(id));
  };
  const endOf = (id: string): KnownEnd => {
    const known = ends.get(id);
    // An id is free again once its sandbox has ended.
    if (known !== undefined && known.end === undefined) return known;
    const fresh = new KnownEnd(id);
    ends.set(id, fresh);
    fresh.whenKnown(() => {
      if (ends.get(id) === fresh) ends.delete(id);
      made.delete(id);
    });
    return fresh;
  };
  const destroy = async (id: string, reason: EndReason, signal?: AbortSignal): Promise<void> => {
    await transport.tell({ method: 'DELETE', path: sandboxPath(id), signal, retry: true });
    made.delete(id);
    const message = reason === 'closed' ? 'It was closed.' : 'The manager that made it was closed.';
    ends.get(id)?.know({ reason, at: new Date().toISOString(), message });
  };
  const close = async (): Promise<void> => {
    await Promise.allSettled(making);
    const late = AbortSignal.timeout(CLOSE_MS);
    const results = await Promise.allSettled(
      [...made].map((id) => destroy(id, 'manager_closed', late).catch(unlessGone)),
    );
    await transport.end();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed === undefined) return;
    throw late.aborted
      ? unreachable(transport.host, `${made.size} sandboxes live on there until they expire`)
      : failed.reason;
  };

  const manager: RemoteSandboxManager = {
    async execute(code, executeOptions = {}) {
      assertOpen();
      checkOptions('execute', executeOptions);
      checkCode(code);
      const { onOutput, onNetwork, signal } = executeOptions;
      const followed = await runOn(transport, {
        path: 'executions',
        json: await executionJson({ code }, executeOptions),
        schema: resultSchema,
        ...(onOutput === undefined ? {} : { onOutput }),
        ...(signal === undefined ? {} : { signal }),
      });
      // A server tells of the network when it is over.
      for (const decision of followed.result.meta.network?.decisions ?? []) onNetwork?.(decision);
      return withMissed(followed);
    },
    async createSandbox(sandboxOptions = {}) {
      assertOpen();
      checkOptions('managed', sandboxOptions);
      assertPossible(sandboxOptions);
      const { signal } = sandboxOptions;
      signal?.throwIfAborted();
      const question = {
        method: 'POST',
        path: 'sandboxes',
        json: sandboxJson(sandboxOptions),
        retry: true,
      } as const;
      const answer = transport.json(question, sandboxAnswer).then(({ id }) => {
        made.add(id);
        endOf(id);
        return id;
      });
      making.add(answer);
      const over = (): void => void making.delete(answer);
      answer.then(over, over);
      const id = await unlessAborted(answer, signal, async () => destroy(await answer, 'closed'));
      if (closing === undefined) return id;
      throw clientClosed();
    },
    executeCode: async (id, code, runOptions) => on(id).execute(code, runOptions),
    exec: async (id, argv, execOptions) => on(id).exec(argv, execOptions),
    writeFile: async (id, path, content) => on(id).writeFile(path, content),
    readFile: async (id, path) => on(id).readFile(path),
    listFiles: async (id, path) => on(id).listFiles(path),
    installPackage: async (id, name, registry, installOptions) =>
      on(id).installPackage(name, { ...installOptions, ...(registry === undefined ? {} : { registry }) }),
    async get(id) {
      assertOpen();
      const answer = await describe(id);
      const known = endOf(answer.id);
      return remoteSandbox(transport, answer, known, () => destroy(answer.id, 'closed'));
    },
    async list() {
      assertOpen();
      const { sandboxes } = await transport.json({ path: 'sandboxes' }, sandboxesAnswer);
      return sandboxes.map(({ enforced: _enforced, warnings: _warnings, ...info }) => info);
    },
    async destroySandbox(id) {
      assertOpen();
      await destroy(id, 'closed');
    },
    close() {
      closing ??= close();
      return closing;
    },
    [Symbol.asyncDispose]: () => manager.close(),
  };
  return manager;
}

/** For a server to end the sandboxes that were made here; what it does not, it ends when they expire. */
const CLOSE_MS = 10_000;

const seconds = z.number().positive().max(86_400);

const schema = z.strictObject({
  apiKey: z.string(),
  allowInsecure: z.boolean().optional(),
  reconnectSec: seconds.optional(),
  requestTimeoutSec: seconds.optional(),
});

/** Names what is wrong, and no value: one of them is the key. */
function checked(options: unknown): z.output<typeof schema> {
  const read = schema.safeParse(options);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const keys = issue?.code === 'unrecognized_keys' ? issue.keys : issue?.path.map(String);
  throw new SandboxError(
    'INPUT_INVALID',
    `The option "${keys?.join('.') || 'options'}": ${issue?.message}.`,
    {
      hint: `Known options: ${Object.keys(schema.shape).join(', ')}.`,
    },
  );
}

/** What only a manager of this process can do. Throws `POLICY_DENIED` and `INPUT_INVALID`. */
function assertPossible({ forwardPorts, onNetwork }: ManagedSandboxOptions): void {
  if (forwardPorts) {
    throw new SandboxError('POLICY_DENIED', 'A server opens no port that leads into a sandbox.', {
      hint: 'Leave forwardPorts out, and ask from inside: with exec or a process.',
    });
  }
  if (onNetwork !== undefined) {
    throw new SandboxError('INPUT_INVALID', 'A server does not tell of the network as it goes on.', {
      hint: 'Leave onNetwork out, and read meta.network of each result.',
    });
  }
}

/** One that the server does not know is gone, which is what was asked for. */
function unlessGone(error: unknown): void {
  if (!isSandboxError(error) || error.code !== 'SANDBOX_NOT_FOUND') throw error;
}
