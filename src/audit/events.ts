/** What is recorded: one line of JSON each, in the order in which it happened. Names are those of the JSON. */
import type { Digest } from './digest.ts';
import type { AuditEvent } from './log/auditLog.ts';
import type { Place } from './log/line.ts';

/** Somebody asks for something. Every later record about it has the same `id`: that of the execution where it is one. */
export interface RequestEvent extends AuditEvent {
  readonly type: 'request';
  readonly id: string;
  readonly surface: string;
  /** Who asks, where more than one can. */
  readonly asked_by?: string;
  readonly operation: string;
  readonly sandbox_id: string | null;
  readonly language?: string | null;
  readonly code?: Digest;
  /** All else that was given; contents by their hashes, variables by their names, secrets taken out. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Something that was noticed about the code. */
export interface Found {
  readonly kind: string;
  readonly name: string;
  /** From 1. */
  readonly line: number;
  readonly message: string;
  readonly dangerous?: boolean;
}

/** What was noticed about the code before. */
export interface FindingEvent extends AuditEvent, Found {
  readonly type: 'finding';
  readonly id: string;
}

/** Whether it may be done, who says so, and what it will be held to. */
export interface DecisionEvent extends AuditEvent {
  readonly type: 'decision';
  readonly id: string;
  readonly verdict: 'allow' | 'deny' | 'block';
  /** `no_gate`: nobody is asked here; `import_check`; otherwise as the gate says. */
  readonly by: string;
  readonly because: string;
}

/** It begins now. Nothing begins before this is written. */
export interface StartedEvent extends AuditEvent {
  readonly type: 'started';
  readonly id: string;
  readonly operation: string;
  readonly runtime: string;
  readonly sandbox_id: string | null;
  readonly policy?: Readonly<Record<string, unknown>>;
}

/** It has ended, or was not even begun. */
export interface EndedEvent extends AuditEvent {
  readonly type: 'ended';
  readonly id: string;
  readonly operation: string;
  readonly ok: boolean;
  /** Why it could not be done, where it was not the program that failed. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** What a dry run did in its copy of the workspace. */
export interface EffectsEvent extends AuditEvent {
  readonly type: 'effects';
  readonly id: string;
  readonly sandbox_id: string;
  /** Of all that its commit writes. */
  readonly sha256: string;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/**
 * A host was asked for, from inside: `network` when it was decided, and before anything passes; `network_closed` when
 * what was let pass is over, with the same `connection`.
 */
export interface NetworkEvent extends AuditEvent {
  readonly type: 'network' | 'network_closed';
  /** Of the execution, where the sandbox was made for it. */
  readonly id?: string;
  readonly sandbox_id: string | null;
}

/** A sandbox that lives on was made, or has ended. */
export interface SandboxEvent extends AuditEvent {
  readonly type: 'sandbox_created' | 'sandbox_ended';
  readonly sandbox_id: string;
}

/** What a gate tells while it decides has fields of its own. */
export type RecordedEvent =
  | AuditEvent
  | RequestEvent
  | FindingEvent
  | DecisionEvent
  | StartedEvent
  | EndedEvent
  | EffectsEvent
  | NetworkEvent
  | SandboxEvent;

/** Where events are recorded. */
export interface Recorder {
  /** Resolves once it is recorded. Rejects with `AUDIT_UNAVAILABLE`. */
  append(event: RecordedEvent): Promise<Place>;
}
