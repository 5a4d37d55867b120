import { SandboxError } from '../errors.ts';
import type { Background } from './background.ts';

/** At one time in one sandbox. */
const MAX_RUNNING = 64;

/** Of so many that have ended there is still something to see; each may hold output in memory. */
const MAX_ENDED = 20;

/** The background processes of one sandbox, in the order of their start. */
export class Processes {
  #all: readonly Background[] = [];

  get all(): readonly Background[] {
    return this.#all;
  }

  /** Throws `QUOTA_EXCEEDED` where as many run as may. */
  makeRoom(): void {
    const running = this.#all.filter(({ status }) => status === 'running').length;
    if (running < MAX_RUNNING) return;
    throw new SandboxError('QUOTA_EXCEEDED', `${running} background processes run in this sandbox already.`, {
      hint: `End one of them first; there may be ${MAX_RUNNING}.`,
      details: { running, max: MAX_RUNNING },
    });
  }

  /** Forgets the oldest of those that have ended. */
  add(background: Background): void {
    const ended = this.#all.filter(({ status }) => status !== 'running');
    const forgotten = new Set(ended.slice(0, Math.max(0, ended.length - MAX_ENDED)));
    this.#all = [...this.#all.filter((known) => !forgotten.has(known)), background];
  }
}
