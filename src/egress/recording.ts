import type { NetworkDecision } from './decision.ts';
import type { Entry } from './decisionLog.ts';

/** What was decided during some time. */
export interface Recorded {
  readonly decisions: readonly NetworkDecision[];
  /** How many more there were. */
  readonly dropped: number;
}

/** Notes what is decided from its making to its end: the first decisions up to a number, and how many more. */
export class Recording {
  readonly #entries: Entry[] = [];
  readonly #most: number;
  readonly #onStop: (recording: Recording) => void;
  #dropped = 0;

  constructor(most: number, onStop: (recording: Recording) => void) {
    this.#most = most;
    this.#onStop = onStop;
  }

  add(entry: Entry): void {
    if (this.#entries.length < this.#most) this.#entries.push(entry);
    else this.#dropped += 1;
  }

  /**
   * Notes nothing more. Connections that are still open have this long to end, since the end of a program is heard of
   * here only after it; those that go on are told with what passed so far.
   */
  async stop(graceMs: number): Promise<Recorded> {
    this.#onStop(this);
    const open = this.#entries.filter((entry) => !entry.isOver);
    if (open.length > 0 && graceMs > 0) await allOver(open, graceMs);
    return { decisions: this.#entries.map((entry) => entry.snapshot()), dropped: this.#dropped };
  }
}

async function allOver(entries: readonly Entry[], graceMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, graceMs);
  });
  await Promise.race([Promise.all(entries.map((entry) => entry.over)), enough]);
  clearTimeout(timer);
}
