import { randomBytes } from 'node:crypto';
import { findLanguage } from '../languages/index.ts';
import { LANGUAGE_NAMES } from '../languages/language.ts';
import { chooseRuntime } from '../runtimes/choose.ts';
import type { Capabilities, Guest, Runtime } from '../runtimes/runtime.ts';
import { Sandbox } from '../sandbox/sandbox.ts';
import { Box } from './box.ts';
import type { ClauseContext } from './clause.ts';
import { must } from './expectations.ts';
import { type PolicyWish, policyFor } from './wish.ts';

/** A runtime as the suite has come to know it. */
export interface Subject {
  readonly runtime: Runtime;
  readonly capabilities: Capabilities;
  readonly hostVisible: boolean;
}

/** The context of one clause: whatever it opens is closed by {@link Workbench.close}. */
export class Workbench implements ClauseContext {
  readonly #subject: Subject;
  readonly #wish: PolicyWish;
  readonly signal: AbortSignal;
  readonly #closers: (() => Promise<void>)[] = [];
  #closed = false;

  constructor(subject: Subject, wish: PolicyWish, signal: AbortSignal) {
    this.#subject = subject;
    this.#wish = wish;
    this.signal = signal;
  }

  get capabilities(): Capabilities {
    return this.#subject.capabilities;
  }

  get hostVisible(): boolean {
    return this.#subject.hostVisible;
  }

  async open(wish: PolicyWish = this.#wish): Promise<Box> {
    const policy = policyFor(wish);
    const choice = await chooseRuntime(async () => this.#subject.runtime, undefined, policy, this.signal);
    const sandbox = await Sandbox.create(choice, policy, LANGUAGE_NAMES.map(findLanguage), this.signal);
    await this.#own(() => sandbox.close());
    return new Box(sandbox, this.signal);
  }

  async guest(wish: PolicyWish = this.#wish, signal: AbortSignal = this.signal): Promise<Guest> {
    const id = randomBytes(6).toString('hex');
    const spec = { id, policy: policyFor(wish), languages: LANGUAGE_NAMES };
    const guest = await this.#subject.runtime.create(spec, signal);
    await this.#own(() => guest.destroy());
    return guest;
  }

  async probe(): Promise<{ version: string; capabilities: Capabilities }> {
    const probe = await this.#subject.runtime.probe(this.signal);
    must(probe.available, 'the runtime is available no more');
    return probe;
  }

  /** Closes all that was opened; what comes to be open later is closed at once. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#closers.splice(0).map((close) => close()));
  }

  async #own(close: () => Promise<void>): Promise<void> {
    if (this.#closed) await close();
    else this.#closers.push(close);
  }
}
