/** The one way that everything takes which is asked for: recorded, decided, recorded again, and only then done. */
import type { Found, RecordedEvent, Recorder } from '../../audit/events.ts';
import type { Place } from '../../audit/log/line.ts';
import { isSandboxError, SandboxError } from '../../errors.ts';
import type { Denied } from '../../gate/approval/decision.ts';
import type { GateEvent } from '../../gate/approval/events.ts';
import type { Gate } from '../../gate/approval/gate.ts';
import type { Sight } from '../../gate/effects.ts';
import type { Operation } from '../../gate/risk.ts';
import type { Surface } from '../surface.ts';
import { eventRedactor, recordable } from './recordable.ts';

/** What is asked for. */
export interface Request {
  readonly id: string;
  readonly operation: Operation;
  readonly sandboxId: string | null;
  /** Tells it from others of this id. */
  readonly sandboxInstance?: string;
  /** What is run or written, whole. */
  readonly code?: { readonly language: string | null; readonly bytes: Uint8Array };
  /** All else that was given, exactly; JSON. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** What comes along unread, as a sentence. */
  readonly unknownContent?: string | undefined;
  /** What must not stand in the record: values of variables. */
  readonly secrets?: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** Where and how it will be done. */
export interface Intent {
  readonly runtime: string;
  readonly policy?: Readonly<Record<string, unknown>>;
}

/** What is seen in the code that is asked for. */
export interface Seen {
  readonly sights: readonly Sight[];
  readonly notInspected?: string;
}

export interface OversightParts {
  readonly surface: Surface;
  /** Absent where nothing is recorded. */
  readonly recorder?: Recorder;
  /** Absent where nobody is asked. */
  readonly gate?: Gate;
  /** Whole sentences that whoever asks next should know; taken from there. */
  readonly notes?: string[];
  /** Who asks at the moment, where more than one can. */
  readonly askedBy?: () => string | undefined;
  /** Seconds that a caller waits for a person; see `DecideOptions`. */
  readonly patienceSec?: number;
}

/** Watches over one request after the other. */
export class Oversight {
  readonly surface: Surface;
  readonly gate: Gate | undefined;
  readonly askedBy: () => string | undefined;
  readonly patienceSec: number | undefined;
  readonly #recorder: Recorder | undefined;
  readonly #notes: string[];
  /** Why something that nobody waited for could not be recorded. */
  #lost: { readonly error: unknown } | undefined;

  constructor({
    surface,
    recorder,
    gate,
    notes = [],
    askedBy = () => undefined,
    patienceSec,
  }: OversightParts) {
    this.askedBy = askedBy;
    this.patienceSec = patienceSec;
    this.#notes = notes;
    this.surface = surface;
    this.gate = gate;
    this.#recorder = recorder;
  }

  /** What whoever asks next should know, once. */
  takeNotes(): readonly string[] {
    return this.#notes.splice(0);
  }

  /** Somebody asks for something. Nothing is written before it is admitted or refused. */
  request(request: Request): Passage {
    return new Passage(this, request);
  }

  /** Nobody waits for it: that it could not be recorded is told to whoever comes next. */
  recordSoon(event: RecordedEvent): void {
    this.#recorder?.append(event).catch((error: unknown) => {
      this.#lost ??= { error };
    });
  }

  /** Something is done once this resolves; rejects with `AUDIT_UNAVAILABLE`, which is told to whoever comes next as well. */
  async recordFirst(event: RecordedEvent): Promise<void> {
    try {
      await this.#recorder?.append(event);
    } catch (error) {
      this.#lost ??= { error };
      throw error;
    }
  }

  /**
   * In their order and together. Resolves to the place of the last one, where there is a record. Rejects with
   * `AUDIT_UNAVAILABLE`.
   */
  async record(...events: readonly RecordedEvent[]): Promise<Place | undefined> {
    const recorder = this.#recorder;
    if (recorder === undefined) return undefined;
    const places = await Promise.all(events.map((event) => recorder.append(event)));
    const lost = this.#lost;
    this.#lost = undefined;
    if (lost !== undefined) throw lost.error;
    return places.at(-1);
  }
}

/** The way of one request. */
export class Passage {
  readonly #oversight: Oversight;
  readonly #request: Request;
  /** What is known so far, and not yet written. */
  #pending: RecordedEvent[];
  #seen: Seen = { sights: [] };
  #isUnrecorded = false;
  readonly #redacted: ReturnType<typeof eventRedactor>;
  /** As it is now: later, somebody else may be asking. */
  readonly #askedBy: string | undefined;

  constructor(oversight: Oversight, request: Request) {
    this.#oversight = oversight;
    this.#request = request;
    this.#redacted = eventRedactor(request.secrets ?? []);
    this.#askedBy = oversight.askedBy();
    const askedBy = this.#askedBy === undefined ? {} : { asked_by: this.#askedBy };
    const { id, operation, sandboxId } = request;
    this.#pending = [
      {
        ...{ type: 'request', id, surface: oversight.surface, ...askedBy, operation, sandbox_id: sandboxId },
        ...recordable(request),
      },
    ];
  }

  /** What the check of imports has found. */
  found(findings: readonly Found[]): void {
    const { id } = this.#request;
    this.#pending.push(...findings.map((finding) => ({ type: 'finding' as const, id, ...finding })));
  }

  /** What the code seems to do. */
  saw(seen: Seen): void {
    this.#seen = seen;
    this.found(
      seen.sights.map(({ effect, name, line, why, isDangerous }) => ({
        ...{ kind: effect, name, line, message: why, dangerous: isDangerous },
      })),
    );
  }

  /** Resolves once it may begin, or to why it must not. Rejects with `AUDIT_UNAVAILABLE`: then it must not either. */
  async admit(intent: Intent): Promise<Denied | undefined> {
    const { id, operation, sandboxId } = this.#request;
    const { runtime, policy } = intent;
    const denied = await this.#decide(intent);
    if (denied !== undefined) return denied;
    this.#pending.push({
      ...{ type: 'started', id, operation, runtime, sandbox_id: sandboxId },
      ...(policy === undefined ? {} : { policy }),
    });
    await this.#flush();
    return undefined;
  }

  /** It is not begun, because of what the code says. */
  async block(because: string): Promise<Place | undefined> {
    const { id, operation } = this.#request;
    this.#pending.push(
      { type: 'decision', id, verdict: 'block', by: 'import_check', because },
      { type: 'ended', id, operation, ok: false, outcome: 'blocked' },
    );
    return this.#flush();
  }

  /** It has ended. Rejects with `AUDIT_UNAVAILABLE`: what came of it is not to be handed out then. */
  async end(
    outcome: { readonly ok: boolean } & Readonly<Record<string, unknown>>,
  ): Promise<Place | undefined> {
    const { id, operation } = this.#request;
    this.#pending.push({ type: 'ended', id, operation, ...outcome });
    try {
      return await this.#flush();
    } catch (error) {
      throw isSandboxError(error) && error.code === 'AUDIT_UNAVAILABLE' ? doneUnrecorded(error) : error;
    }
  }

  /**
   * Does it, once it may begin, and records its end; what it rejects with is recorded and thrown. Rejects with
   * `APPROVAL_DENIED` where it may not begin.
   */
  async through<T>(
    intent: () => Intent,
    action: () => Promise<T>,
    describe: (value: T) => Readonly<Record<string, unknown>> = () => ({}),
  ): Promise<T> {
    const value = await this.failing(async () => {
      const denied = await this.admit(intent());
      if (denied !== undefined) throw denialError(denied);
      return action();
    });
    await this.end({ ok: true, ...describe(value) });
    return value;
  }

  /** Records what the action rejects with, unless `instead` does, and throws it. */
  async failing<T>(
    action: () => Promise<T>,
    instead: () => Promise<unknown> | undefined = () => undefined,
  ): Promise<T> {
    try {
      return await action();
    } catch (error) {
      if (this.#isUnrecorded) throw error;
      await (instead() ?? this.end({ ok: false, error: describeError(error) }));
      throw error;
    }
  }

  /** Resolves to why not; the decision has been recorded then. */
  async #decide({ runtime, policy = {} }: Intent): Promise<Denied | undefined> {
    const { id, operation, sandboxId, sandboxInstance, code, parameters, unknownContent, signal } =
      this.#request;
    const { gate, patienceSec } = this.#oversight;
    if (gate === undefined) {
      this.#pending.push({
        ...{ type: 'decision', id, verdict: 'allow', by: 'no_gate', because: 'Nobody is asked here.' },
      });
      return undefined;
    }
    await this.#flush();
    const network = 'network' in policy ? { network_enabled: policy['network'] !== 'none' } : {};
    const language = code === undefined ? {} : { language: code.language };
    const proposal = {
      ...{ operation, parameters: { ...parameters, ...language, ...network }, policy, runtime, sandboxId },
      ...(sandboxInstance === undefined ? {} : { sandboxInstance }),
      ...(code === undefined ? {} : { code }),
      ...(unknownContent === undefined ? {} : { unknownContent }),
      ...(this.#askedBy === undefined ? {} : { askedBy: this.#askedBy }),
    };
    const decision = await gate.decide(proposal, this.#seen.sights, {
      ...{ requestId: id, notInspected: this.#seen.notInspected, signal, patienceSec },
      onEvent: (event) => this.#oversight.record(this.#redacted(this.#withoutContents(event))),
    });
    return decision.verdict === 'deny' ? decision : undefined;
  }

  #withoutContents(event: GateEvent): RecordedEvent {
    return event.type === 'question' ? { ...event, parameters: recordable(this.#request).parameters } : event;
  }

  /** Resolves to the place of the last record. */
  async #flush(): Promise<Place | undefined> {
    const events = this.#pending;
    this.#pending = [];
    try {
      return await this.#oversight.record(...events.map(this.#redacted));
    } catch (error) {
      this.#isUnrecorded = true;
      throw error;
    }
  }
}

/** What is thrown for what was denied. */
export function denialError({ code, because, risk, hash }: Denied): SandboxError {
  return new SandboxError(code, because, {
    hint: 'Ask for something else, or have a person approve it: glovebox approvals',
    details: { risk: risk.level, rule: risk.rule ?? null, proposalHash: hash },
  });
}

function describeError(error: unknown): { code: string; message: string } {
  if (isSandboxError(error)) return { code: error.code, message: error.message };
  return { code: 'INTERNAL', message: String(error).slice(0, 1000) };
}

function doneUnrecorded(error: SandboxError): SandboxError {
  return new SandboxError(
    'AUDIT_UNAVAILABLE',
    `It was done, but its end could not be recorded. ${error.message}`,
    { hint: error.hint, details: error.details, cause: error },
  );
}
