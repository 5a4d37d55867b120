/** What was answered to requests that may come again, for as long as whoever asked may not have heard it. */
import { SandboxError } from '../errors.ts';
import { problem } from './errors.ts';

/** An answer as it is sent, as often as it is asked for. */
export interface SentAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly text: string;
}

/** A request: whose it is, by which key it is known again, and what tells it from every other one. */
export interface KeyedRequest {
  /** The id of its caller. */
  readonly owner: string;
  readonly key: string;
  readonly fingerprint: string;
}

export interface KeptBounds {
  /** Of one owner, with those that are being made. */
  readonly count: number;
  /** Of one answer; of a longer one nothing is kept but that there was one. */
  readonly answerBytes: number;
  /** Of all of them. */
  readonly totalBytes: number;
  /** Since the answer. */
  readonly ageMs: number;
}

const BOUNDS: KeptBounds = {
  count: 1000,
  answerBytes: 1024 ** 2,
  totalBytes: 64 * 1024 ** 2,
  ageMs: 10 * 60_000,
};

interface Making {
  readonly request: KeyedRequest;
  readonly answer: Promise<SentAnswer>;
}

interface Kept {
  readonly request: KeyedRequest;
  /** Undefined where it was too long. */
  readonly answer: SentAnswer | undefined;
  /** Where more is to be found. */
  readonly location: string | undefined;
  readonly bytes: number;
  readonly at: number;
}

/** What one costs besides its text. */
const ENTRY_BYTES = 1024;

export class KeptAnswers {
  readonly #bounds: KeptBounds;
  readonly #now: () => number;
  readonly #making = new Map<string, Making>();
  /** The oldest first. */
  readonly #kept = new Map<string, Kept>();

  constructor(bounds: Partial<KeptBounds> = {}, now: () => number = Date.now) {
    this.#bounds = { ...BOUNDS, ...bounds };
    this.#now = now;
  }

  /**
   * Makes the answer, or resolves to the one that was made, or is being made just now, to the same key of the same owner.
   * One that says to come again (429, and all from 500) is not kept. Throws `INPUT_INVALID` where the key stands for another
   * request, or for an answer that was too long to be kept; `QUOTA_EXCEEDED` where too many are being made; and what
   * `make` throws.
   */
  async once(request: KeyedRequest, make: () => Promise<SentAnswer>): Promise<SentAnswer> {
    this.#forgetOld();
    const id = JSON.stringify([request.owner, request.key]);
    const making = this.#making.get(id);
    const kept = this.#kept.get(id);
    const known = making ?? kept;
    if (known !== undefined && known.request.fingerprint !== request.fingerprint) throw otherRequest();
    if (known?.answer !== undefined) return known.answer;
    if (kept !== undefined) throw tooLong(kept.location);
    this.#makeRoom(request.owner);
    const answer = make();
    this.#making.set(id, { request, answer });
    try {
      const made = await answer;
      if (!saysToComeAgain(made)) this.#keep(id, request, made);
      return made;
    } finally {
      this.#making.delete(id);
    }
  }

  #keep(id: string, request: KeyedRequest, made: SentAnswer): void {
    // A character is up to two bytes.
    const size = 2 * made.text.length;
    const isKept = size <= this.#bounds.answerBytes;
    this.#kept.set(id, {
      request,
      answer: isKept ? made : undefined,
      location: made.headers.find(([name]) => name === 'location')?.[1],
      bytes: ENTRY_BYTES + (isKept ? size : 0),
      at: this.#now(),
    });
    for (let total = sum(this.#kept.values()); total > this.#bounds.totalBytes; ) {
      const gone = this.#oldestOfLargest();
      if (gone === undefined) return;
      this.#kept.delete(gone[0]);
      total -= gone[1].bytes;
    }
  }

  /** For one more of this owner. */
  #makeRoom(owner: string): void {
    const isOwn = ({ request }: Making | Kept): boolean => request.owner === owner;
    const making = [...this.#making.values()].filter(isOwn).length;
    const kept = [...this.#kept].filter(([, one]) => isOwn(one));
    if (making + kept.length < this.#bounds.count) return;
    const [oldest] = kept;
    if (oldest !== undefined) {
      this.#kept.delete(oldest[0]);
      return;
    }
    throw new SandboxError('QUOTA_EXCEEDED', `${making} requests of this key are being answered.`, {
      hint: 'Ask again when some of them have their answer.',
      details: { retry_after_sec: 1 },
    });
  }

  #forgetOld(): void {
    const oldest = this.#now() - this.#bounds.ageMs;
    for (const [id, { at }] of this.#kept) {
      if (at >= oldest) return;
      this.#kept.delete(id);
    }
  }

  #oldestOfLargest(): readonly [string, Kept] | undefined {
    const costs = new Map<string, number>();
    for (const { request, bytes } of this.#kept.values()) {
      costs.set(request.owner, (costs.get(request.owner) ?? 0) + bytes);
    }
    const [largest] = [...costs].sort(([, a], [, b]) => b - a);
    return [...this.#kept].find(([, { request }]) => request.owner === largest?.[0]);
  }
}

function saysToComeAgain({ status }: SentAnswer): boolean {
  return status === 429 || status >= 500;
}

function sum(kept: Iterable<Kept>): number {
  let total = 0;
  for (const { bytes } of kept) total += bytes;
  return total;
}

function otherRequest(): SandboxError {
  return new SandboxError('INPUT_INVALID', 'The Idempotency-Key was sent with another request already.', {
    hint: 'Take a new key, such as a UUID, for each request, and the same one only to send exactly that again.',
    details: { in: 'headers', path: 'idempotency-key' },
  });
}

function tooLong(location: string | undefined): Error {
  return problem(
    409,
    'INPUT_INVALID',
    'This was done and answered, and the answer was too long to be kept.',
    {
      hint:
        location === undefined
          ? 'Look at what it has done before you ask for it with a new key.'
          : `Read what came of it: GET ${location}. With wait=false no answer is too long.`,
      details: { ...(location === undefined ? {} : { location }) },
    },
  );
}
