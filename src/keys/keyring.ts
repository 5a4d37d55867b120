/** The API keys of one user's servers: made, replaced, taken back, and asked for who a secret belongs to. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type LoadOptions, stateFolder } from '../config/index.ts';
import { SandboxError } from '../errors.ts';
import { isLive, type Key, type NewKey, parseNewKey, type StoredKey } from './key.ts';
import { KeyFile } from './keyFile.ts';
import { hashOf, keyIdIn, newKeyId, newSecret, sameHash } from './secret.ts';

export interface KeyringOptions {
  /** Belongs to one user alone; it is made where it is missing. */
  readonly folder: string;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
  /** Told, once for each reason, why no key holds: the file is not believed. */
  readonly onWarning?: (message: string) => void;
}

/** A key with its secret, which is told this one time. */
export interface KeyWithSecret {
  readonly key: Key;
  readonly secret: string;
}

const DAY_SEC = 24 * 3600;
const MAX_OVERLAP_SEC = 30 * DAY_SEC;
const MAX_LIVE_KEYS = 1000;
/** Of those that hold no more, so that a list says when they ended. */
const MAX_ENDED_KEYS = 200;

/** Where the keys of this user are kept. Throws `CONFIG_INVALID` where the user has no home. */
export function keysFolder(surroundings: Pick<LoadOptions, 'env' | 'homeDir'> = {}): string {
  const state = stateFolder(surroundings);
  if (state !== undefined) return join(state, 'keys');
  throw new SandboxError('CONFIG_INVALID', 'There is no folder for keys: this user has no home.', {
    hint: 'Name a folder in XDG_STATE_HOME.',
  });
}

/**
 * Only a hash of each secret is kept. What another process changes holds with the next request, and nothing holds while the
 * file is not believed.
 */
export class Keyring {
  readonly #file: KeyFile;
  readonly #clock: () => number;
  readonly #onWarning: (message: string) => void;
  #warned = '';
  /** The hash of nothing that anybody has: what an unknown key is compared with. */
  readonly #nobody = randomBytes(32).toString('hex');

  constructor({ folder, clock = Date.now, onWarning = () => {} }: KeyringOptions) {
    this.#file = new KeyFile(folder);
    this.#clock = clock;
    this.#onWarning = onWarning;
  }

  /** Makes a key. Throws `INPUT_INVALID` for what none can be made from, `CONFIG_INVALID` when it cannot be kept. */
  async create(given: NewKey): Promise<KeyWithSecret> {
    const { expiresInSec, ...rest } = parseNewKey(given);
    const id = newKeyId();
    const secret = newSecret(id);
    const now = this.#clock();
    const expiry = expiresInSec === undefined ? {} : { expiresAt: isoTime(now + expiresInSec * 1000) };
    const stored = { id, ...rest, createdAt: isoTime(now), ...expiry, secrets: [{ sha256: hashOf(secret) }] };
    await this.#file.change((keys) => [...withRoom([...keys.values()], now), stored]);
    return { key: publicKey(stored), secret };
  }

  /** All keys in the order in which they were made, also those that hold no more. Throws `CONFIG_INVALID`. */
  list(): Key[] {
    return [...this.#file.read().values()].map(publicKey);
  }

  /** From now on the key does not hold, in any process. Throws `INPUT_INVALID` for an unknown one, `CONFIG_INVALID`. */
  revoke(id: string): Promise<Key> {
    return this.#replace(id, (key) => ({ revokedAt: isoTime(this.#clock()), ...key }));
  }

  /**
   * A new secret for a key. The one that held until now goes on for `overlapSec` (a day), an older one no longer. Throws
   * `INPUT_INVALID` for a key that is unknown or holds no more and for an overlap above 30 days, and `CONFIG_INVALID`.
   */
  async rotate(
    id: string,
    { overlapSec = DAY_SEC }: { readonly overlapSec?: number } = {},
  ): Promise<KeyWithSecret> {
    if (!(overlapSec >= 0 && overlapSec <= MAX_OVERLAP_SEC)) throw badOverlap(overlapSec);
    const secret = newSecret(id);
    const key = await this.#replace(id, (stored) => {
      const now = this.#clock();
      if (!isLive(stored, now)) throw ended(stored);
      const [{ sha256 }] = stored.secrets as [{ sha256: string }];
      const earlier = overlapSec === 0 ? [] : [{ sha256, until: isoTime(now + overlapSec * 1000) }];
      return { ...stored, secrets: [{ sha256: hashOf(secret) }, ...earlier] };
    });
    return { key, secret };
  }

  /**
   * Whose secret it is; undefined where it is nobody's, or no longer. How long it takes tells nothing about which keys there
   * are, nor how much of a secret is right.
   */
  authenticate(secret: string): Key | undefined {
    const id = keyIdIn(secret);
    if (id === undefined) return undefined;
    const stored = this.#believed().get(id);
    const now = this.#clock();
    const hash = hashOf(secret);
    const [current, earlier] = stored?.secrets ?? [];
    const isCurrent = sameHash(hash, current?.sha256 ?? this.#nobody);
    const isEarlier =
      sameHash(hash, earlier?.sha256 ?? this.#nobody) && now < Date.parse(earlier?.until ?? '');
    if (stored === undefined || !(isCurrent || isEarlier) || !isLive(stored, now)) return undefined;
    return publicKey(stored);
  }

  /** Whether there is any key that holds: without one nobody can ask for anything. Throws `CONFIG_INVALID`. */
  hasLiveKeys(): boolean {
    const now = this.#clock();
    return this.list().some((key) => isLive(key, now));
  }

  /** Nothing where the file is not believed: whoever asks is told no more than that their key does not hold. */
  #believed(): ReadonlyMap<string, StoredKey> {
    try {
      return this.#file.read();
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#warned) this.#onWarning(message);
      this.#warned = message;
      return new Map();
    }
  }

  async #replace(id: string, change: (key: StoredKey) => StoredKey): Promise<Key> {
    let changed: StoredKey | undefined;
    await this.#file.change((keys) => {
      const found = keys.get(id);
      if (found === undefined) throw unknown(id);
      changed = change(found);
      return [...new Map(keys).set(id, changed).values()];
    });
    return publicKey(changed as StoredKey);
  }
}

/** Throws `INPUT_INVALID` where there are too many keys; of those that hold no more only the newest stay. */
function withRoom(keys: readonly StoredKey[], now: number): StoredKey[] {
  const endedOnes = keys.filter((key) => !isLive(key, now));
  if (keys.length - endedOnes.length >= MAX_LIVE_KEYS) {
    throw new SandboxError('INPUT_INVALID', `There are ${MAX_LIVE_KEYS} keys, and no more can be made.`, {
      hint: 'Revoke those that nobody uses: glovebox keys list',
    });
  }
  const forgotten = new Set(endedOnes.slice(0, Math.max(0, endedOnes.length - MAX_ENDED_KEYS)));
  return keys.filter((key) => !forgotten.has(key));
}

function publicKey({ secrets: _secrets, ...key }: StoredKey): Key {
  return key;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

function unknown(id: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `There is no key ${JSON.stringify(id.slice(0, 100))}.`, {
    hint: 'Run: glovebox keys list',
  });
}

function ended({ id, revokedAt }: StoredKey): SandboxError {
  const how = revokedAt === undefined ? 'has expired' : 'was revoked';
  return new SandboxError('INPUT_INVALID', `The key ${id} ${how}: a new secret would not make it hold.`, {
    hint: 'Make another key: glovebox keys create',
  });
}

function badOverlap(overlapSec: number): SandboxError {
  return new SandboxError('INPUT_INVALID', `An overlap of ${overlapSec} seconds is not possible.`, {
    hint: 'Give 0 for none, and at most 30 days.',
  });
}
