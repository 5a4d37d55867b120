/** The server: what it is made of, and how it ends. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Hono } from 'hono';
import type { LoadOptions } from '../config/index.ts';
import { Usage } from '../keys/quotas.ts';
import { Approvals } from '../operations/approvals.ts';
import { AuditTrail } from '../operations/auditTrail.ts';
import { createContext } from '../operations/context.ts';
import { SandboxManager } from '../operations/sandboxManager.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { listen } from '../web/listen.ts';
import { Admission } from './admission.ts';
import { buildApp } from './app.ts';
import { Bodies } from './bodies.ts';
import { Changes } from './changes.ts';
import { knownIn } from './errors.ts';
import { type Execution, Executions } from './executions.ts';
import { KeptAnswers } from './keptAnswers.ts';
import type { Keys } from './keys.ts';
import { defaultLimits, type Limits } from './limits.ts';
import type { Logger } from './logging.ts';
import { Metrics } from './metrics.ts';
import type { Asking, Life, Parts } from './parts.ts';
import { Sandboxes } from './sandboxes.ts';
import { Streams } from './streams.ts';
import { inSpan, type Telemetry } from './telemetry.ts';

export interface ServerOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly allowRemote?: boolean;
  readonly keys: Keys;
  readonly log: Logger;
  readonly telemetry: Telemetry;
  /** Where settings are read from. */
  readonly surroundings?: LoadOptions;
  readonly runtime?: string | Runtime;
  readonly limits?: Partial<Limits>;
  readonly allowedHosts?: readonly string[];
  readonly allowedOrigins?: readonly string[];
  /** What else is answered, such as pages for people. */
  readonly mount?: (parts: Parts) => Hono;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  readonly parts: Parts;
  /**
   * Begins nothing new, waits for what runs as long as it may, cancels what is left, and ends all sandboxes. Safe to call
   * twice.
   */
  close(options: { readonly drainSec: number }): Promise<void>;
}

/** How long what was cancelled may take to end by itself; its sandbox is ended then. */
const CANCELLED_SEC = 10;

/** How long answers that are being given may take when all is over. */
const LAST_ANSWERS_SEC = 2;

/** Listens. Throws `CONFIG_INVALID`, `POLICY_DENIED` or `INPUT_INVALID` where it cannot. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { keys, log, telemetry, surroundings = {} } = options;
  const { allowedHosts = [], allowedOrigins = [] } = options;
  const limits = { ...defaultLimits(), ...options.limits };
  const asking = new AsyncLocalStorage<Asking>();
  const settings = await createContext({
    ...surroundings,
    ...(options.runtime === undefined ? {} : { runtime: options.runtime }),
    surface: 'http',
    trustEarlierTrial: true,
    askedBy: () => asking.getStore()?.caller,
    executionId: () => asking.getStore()?.executionId,
    onQuestion: () => asking.getStore()?.onQuestion?.() ?? (() => {}),
  });
  const usage = new Usage();
  const metrics = new Metrics();
  const changes = new Changes();
  const bodies = new Bodies(limits.bodiesBytes);
  const streams = new Streams(keys);
  const manager = new SandboxManager({ onEvent: () => changes.tell('sandboxes') });
  const context = await manager.warmed(settings);
  const admission = new Admission({ running: limits.maxExecutions, queue: limits.maxQueue });
  const executions = new Executions({
    admission,
    within: (who, run) => asking.run(who, () => inSpan(telemetry, 'execution', 'internal', run)),
    onStarted: ({ settled }) => asking.getStore()?.onStarted?.(settled),
    onChanged: () => changes.tell('executions'),
    onEnded: ({ id, owner, error, caller, log: { totalBytes } }, summary) => {
      metrics.executed(summary);
      const { cpuSec = 0, fileBytes = 0 } = summary ?? {};
      void usage.spend(caller, { cpuSec, bytes: totalBytes + fileBytes });
      if (error === undefined) return;
      const code = knownIn(error)?.code;
      // A bug is told with its stack: nobody may have waited for the answer.
      const told = code === undefined ? { error: String((error as Error)?.stack ?? error) } : { code };
      log.warn({ execution: id, key: owner, ...told }, 'execution failed');
    },
  });
  const sandboxes = new Sandboxes(manager, context);
  const approvals = once(() =>
    Approvals.open({ ...surroundings, surface: 'http' }, (warning) => log.warn({ warning }, 'approvals')),
  );
  const trail = once(() => AuditTrail.open(surroundings));
  // Looked at whenever somebody asks how many wait; a user without a home has none.
  const room = await approvals().catch(() => undefined);
  const ending = new AbortController();
  const life: Life = { isDraining: false, ending: ending.signal };
  const parts: Parts = {
    ...{ keys, usage, context, surroundings, asking, manager, sandboxes, executions },
    ...{ approvals, trail, answers: new KeptAnswers() },
    ...{ metrics, telemetry, limits, life, changes, bodies, streams },
  };
  metrics.watch({
    running: () => admission.running,
    queued: () => admission.waiting,
    sandboxes: () => sandboxes.count,
    questions: () => room?.waiting().length ?? 0,
    warm: () => manager.warmState(),
  });
  const mount = options.mount?.(parts);
  const app = buildApp({ parts, log, guards: { allowedHosts, allowedOrigins }, mount });
  const listening = await listen(app.fetch as Parameters<typeof listen>[0], {
    ...{ host: options.host, port: options.port, allowRemote: options.allowRemote ?? false },
    onUnexpected: (error) => log.error({ error: String(error) }, 'unexpected'),
  });
  const end = async (drainSec: number): Promise<void> => {
    life.isDraining = true;
    // Background processes end with their sandboxes.
    await settled(
      executions.active.filter(({ isBeside }) => !isBeside),
      drainSec,
    );
    executions.cancelAll();
    await settled(executions.active, CANCELLED_SEC);
    ending.abort();
    await manager.close();
    await listening.close({ graceSec: LAST_ANSWERS_SEC });
    await telemetry.close();
  };
  let ended: Promise<void> | undefined;
  return {
    ...{ url: listening.url, port: listening.port, parts },
    close({ drainSec }) {
      ended ??= end(drainSec);
      return ended;
    },
  };
}

/** Makes it once; what could not be made is tried again the next time. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    made.catch(() => {
      made = undefined;
    });
    return made;
  };
}

/** Waits for all of them, but no longer than that. */
async function settled(running: readonly Execution[], seconds: number): Promise<void> {
  const inTime = new AbortController();
  const late = delay(seconds * 1000, undefined, { signal: inTime.signal }).catch(() => {});
  await Promise.race([Promise.all(running.map((execution) => execution.settled)), late]);
  inTime.abort();
}
