/** Guests each of whose programs runs in a warm guest of its own, so that suites for guests hold those to their promises too. */
import { randomBytes } from 'node:crypto';
import { findLanguage } from '../../src/languages/index.ts';
import type { LanguageName } from '../../src/languages/language.ts';
import type { WantedLimits } from '../../src/policy/policy.ts';
import type {
  Command,
  Enforced,
  Guest,
  GuestProcess,
  ProgramLimits,
  RemoveOptions,
  Root,
  Runtime,
  SandboxSpec,
  TransferLimits,
  UnpackOptions,
  WarmedBy,
} from '../../src/runtimes/runtime.ts';

/** The languages whose interpreters wait, and how each must have come to wait. */
export type Waiting = Readonly<Partial<Record<LanguageName, WarmedBy>>>;

/**
 * The same runtime, whose guests start code in these languages where an interpreter waits for it, and fail where none
 * does. Each program begins in a guest of its own with the files that were written from outside; what it makes can be
 * looked at until the next one, and is not there for that. Commands, and programs behind a relay, start cold.
 */
export function warmed(runtime: Runtime, waiting: Waiting): Runtime {
  const alive = new Set<Guest>();
  return {
    name: runtime.name,
    probe: (signal) => runtime.probe(signal),
    rest: async () => runtime.rest?.(),
    sweep: async (signal) => (await runtime.sweep?.(signal)) ?? 0,
    async create(spec, signal) {
      if (spec.relay !== undefined) return runtime.create(spec, signal);
      const guest = await WarmedGuest.create({ runtime, waiting, alive, spec }, signal);
      alive.add(guest);
      return guest;
    },
  };
}

interface Parts {
  readonly runtime: Runtime;
  readonly waiting: Waiting;
  /** All that were made and not destroyed. */
  readonly alive: Set<Guest>;
  readonly spec: SandboxSpec;
}

class WarmedGuest implements Guest {
  warmedBy?: WarmedBy;
  root?: Root;
  readonly #parts: Parts;
  readonly #written = new Map<string, Uint8Array>();
  readonly #made = new Set<Guest>();
  /** The one whose program comes next, or ran last. */
  #current!: Guest;
  #waitsFor: LanguageName | undefined;
  #limits: ProgramLimits = {};
  #isUsed = false;
  #isDestroyed = false;

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  static async create(parts: Parts, signal?: AbortSignal): Promise<WarmedGuest> {
    const guest = new WarmedGuest(parts);
    const language = parts.spec.languages.find((name) => parts.waiting[name] !== undefined);
    try {
      await guest.#renew(language, {}, signal);
      return guest;
    } catch (error) {
      await guest.destroy();
      throw error;
    }
  }

  get enforced(): Enforced {
    return this.#current.enforced;
  }

  get workspace(): string {
    return this.#current.workspace;
  }

  get sharesLoopback(): boolean {
    return this.#current.sharesLoopback;
  }

  get environment(): Readonly<Record<string, string>> {
    return this.#current.environment;
  }

  interpreter(language: LanguageName): ReturnType<Guest['interpreter']> {
    return this.#current.interpreter(language);
  }

  async spawn({ limits = {}, ...command }: Command): Promise<GuestProcess> {
    const language = await this.#languageOf(command);
    const fits = this.#waitsFor === language && isWithin(limits, this.#limits, this.#parts.spec);
    if (!this.#isDestroyed && (this.#isUsed || !fits)) await this.#renew(language, limits);
    const program = await this.#current.spawn(command);
    this.#isUsed = true;
    return program;
  }

  async readFile(path: string, maxBytes: number): Promise<Uint8Array> {
    return this.#current.readFile(path, maxBytes);
  }

  async writeFile(path: string, data: Uint8Array): Promise<void> {
    if (!this.#isDestroyed && this.#isUsed) await this.#renew(this.#waitsFor, {});
    await this.#current.writeFile(path, data);
    this.#written.set(path, data);
  }

  async listFiles(path: string, maxEntries: number): ReturnType<Guest['listFiles']> {
    return this.#current.listFiles(path, maxEntries);
  }

  async removeFile(path: string, options?: RemoveOptions): Promise<void> {
    await this.#current.removeFile(path, options);
    this.#written.delete(path);
  }

  async pack(path: string, limits: TransferLimits): ReturnType<Guest['pack']> {
    return this.#current.pack(path, limits);
  }

  async unpack(
    path: string,
    archive: AsyncIterable<Uint8Array>,
    options: UnpackOptions,
  ): ReturnType<Guest['unpack']> {
    return this.#current.unpack(path, archive, options);
  }

  async destroy(): Promise<void> {
    const { alive, runtime } = this.#parts;
    this.#isDestroyed = true;
    await Promise.all([...this.#made].map((guest) => guest.destroy()));
    // As a pool does when it ends.
    if (alive.delete(this) && alive.size === 0) await runtime.rest?.();
  }

  /** The language whose file the command runs, where its interpreter is to wait. */
  async #languageOf({ argv, relay }: Command): Promise<LanguageName | undefined> {
    if (relay !== undefined) return undefined;
    for (const name of this.#parts.spec.languages) {
      if (this.#parts.waiting[name] === undefined) continue;
      const { fileName, command } = findLanguage(name);
      const { path } = await this.interpreter(name);
      const wanted = command(path, `${this.workspace}/${fileName}`, []);
      if (wanted.every((word, index) => argv[index] === word)) return name;
    }
    return undefined;
  }

  /** Makes the next guest, in which this language's interpreter waits, or none. */
  async #renew(
    language: LanguageName | undefined,
    limits: ProgramLimits,
    signal?: AbortSignal,
  ): Promise<void> {
    const { runtime, waiting, spec } = this.#parts;
    const guest = await runtime.create(
      {
        ...{ id: randomBytes(6).toString('hex'), languages: spec.languages },
        policy: { ...spec.policy, limits: lowered(spec.policy.limits, limits) },
        ...(language === undefined ? {} : { singleUse: true, warm: { language, preload: [] } }),
      },
      signal,
    );
    this.#made.add(guest);
    const expected = language && waiting[language];
    if (expected !== guest.warmedBy) {
      throw new Error(`${language} did not wait as "${expected}" here: ${guest.warmedBy}.`);
    }
    for (const [path, data] of this.#written) await guest.writeFile(path, data);
    this.#current = guest;
    if (guest.root !== undefined) this.root = guest.root;
    if (guest.warmedBy === undefined) delete this.warmedBy;
    else this.warmedBy = guest.warmedBy;
    this.#waitsFor = language;
    this.#limits = limits;
    this.#isUsed = false;
  }
}

/** A guest that was made for `made` holds a program to `wanted`. */
function isWithin(wanted: ProgramLimits, made: ProgramLimits, { policy }: SandboxSpec): boolean {
  const { timeoutSec = 0 } = wanted;
  return (
    wanted.memoryMb === made.memoryMb &&
    wanted.processes === made.processes &&
    timeoutSec <= (made.timeoutSec ?? policy.limits.timeoutSec.value)
  );
}

function lowered(wanted: WantedLimits, { memoryMb, processes, timeoutSec }: ProgramLimits): WantedLimits {
  const limit = (value: number) => ({ value, default: false });
  return {
    ...wanted,
    ...(memoryMb === undefined ? {} : { memoryMb: limit(memoryMb) }),
    ...(processes === undefined ? {} : { processes: limit(processes) }),
    ...(timeoutSec === undefined ? {} : { timeoutSec: { ...wanted.timeoutSec, value: timeoutSec } }),
  };
}
