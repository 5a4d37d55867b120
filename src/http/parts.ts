import type { AsyncLocalStorage } from 'node:async_hooks';
import type { LoadOptions } from '../config/index.ts';
import type { Usage } from '../keys/quotas.ts';
import type { Approvals } from '../operations/approvals.ts';
import type { AuditTrail } from '../operations/auditTrail.ts';
import type { Context } from '../operations/context.ts';
import type { SandboxManager } from '../operations/sandboxManager.ts';
import type { Bodies } from './bodies.ts';
import type { Changes } from './changes.ts';
import type { Executions } from './executions.ts';
import type { KeptAnswers } from './keptAnswers.ts';
import type { Keys } from './keys.ts';
import type { Limits } from './limits.ts';
import type { Metrics } from './metrics.ts';
import type { Sandboxes } from './sandboxes.ts';
import type { Streams } from './streams.ts';
import type { Telemetry } from './telemetry.ts';

/** For whom something is asked at the moment, and the id that an execution shall have. */
export interface Asking {
  readonly caller: string;
  readonly executionId?: string;
  /** Told of an execution that begins, which needs what was sent until it has settled. */
  readonly onStarted?: (settled: Promise<void>) => void;
  /** Told when a person is asked; what it returns is called when that is over. */
  readonly onQuestion?: () => () => void;
}

/** What the routes of a server are made of. */
export interface Parts {
  readonly keys: Keys;
  readonly usage: Usage;
  readonly context: Context;
  /** Where settings are read from, for what reads them itself. */
  readonly surroundings: LoadOptions;
  readonly asking: AsyncLocalStorage<Asking>;
  readonly manager: SandboxManager;
  readonly sandboxes: Sandboxes;
  readonly executions: Executions;
  readonly answers: KeptAnswers;
  /** Questions of all processes of this user. Throws `INPUT_INVALID` for a user without a home. */
  readonly approvals: () => Promise<Approvals>;
  readonly trail: () => Promise<AuditTrail>;
  readonly metrics: Metrics;
  readonly telemetry: Telemetry;
  readonly limits: Limits;
  readonly bodies: Bodies;
  readonly streams: Streams;
  readonly life: Life;
  readonly changes: Changes;
}

/** How far the server is. */
export interface Life {
  /** No work is begun any more. */
  isDraining: boolean;
  /** Ends what only listens: events of approvals and of the record. */
  readonly ending: AbortSignal;
}
