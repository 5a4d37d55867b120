/** The live sandboxes of the server, and to which key each belongs. */
import type { Context } from '../operations/context.ts';
import type { LiveSandbox } from '../operations/liveSandbox.ts';
import type { ManagedSandboxOptions, SandboxInfo, SandboxManager } from '../operations/sandboxManager.ts';
import { enforcedToJson } from '../result/resultJson.ts';
import { problem } from './errors.ts';

/** Of so many that have ended it is remembered to whom they belonged. */
const REMEMBERED = 1000;

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export class Sandboxes {
  readonly #manager: SandboxManager;
  readonly #context: Context;
  readonly #owners = new Map<string, string>();
  readonly #making = new Map<string, number>();

  constructor(manager: SandboxManager, context: Context) {
    this.#manager = manager;
    this.#context = context;
  }

  /** Undefined for one that nobody here made. */
  ownerOf(id: string): string | undefined {
    return this.#owners.get(id);
  }

  /** How many live. */
  get count(): number {
    return this.#manager.list().length;
  }

  /**
   * Nothing is left of it when the signal comes before it is there. `admit` is told how many this owner has, with those that
   * are just being made, and throws where that is enough.
   */
  async create(
    owner: string,
    options: Omit<ManagedSandboxOptions, 'runtime'>,
    admit: (count: number) => void,
  ): Promise<LiveSandbox> {
    const making = this.#making.get(owner) ?? 0;
    admit(this.#countOf(owner) + making);
    this.#making.set(owner, making + 1);
    try {
      const id = await this.#manager.createSandboxWith(this.#context, options);
      this.#remember(id, owner);
      return this.#manager.get(id);
    } finally {
      const left = (this.#making.get(owner) ?? 1) - 1;
      if (left > 0) this.#making.set(owner, left);
      else this.#making.delete(owner);
    }
  }

  /** Throws what is answered with 404 for one of somebody else, and `SANDBOX_CLOSED` for one that has ended. */
  get(owner: string, id: string): LiveSandbox {
    this.#assertOwn(owner, id);
    return this.#manager.get(id);
  }

  /** Of one owner; of all where none is named. */
  list(owner?: string): readonly Readonly<Record<string, unknown>>[] {
    return this.#manager
      .list()
      .filter(({ id }) => owner === undefined || this.#owners.get(id) === owner)
      .map((info) => sandboxToJson(info, this.#manager.get(info.id)));
  }

  #countOf(owner: string): number {
    return this.#manager.list().filter(({ id }) => this.#owners.get(id) === owner).length;
  }

  describe(owner: string, id: string): Readonly<Record<string, unknown>> {
    const handle = this.get(owner, id);
    const info = this.#manager.list().find((sandbox) => sandbox.id === id);
    // It may have ended just now, which the handle knows first.
    return sandboxToJson(info ?? { ...handle, language: '' }, handle);
  }

  /** One that has ended is what was asked for. */
  async destroy(owner: string, id: string): Promise<void> {
    this.#assertOwn(owner, id);
    await this.#manager.destroySandbox(id);
  }

  #assertOwn(owner: string, id: string): void {
    if (ID.test(id) && this.#owners.get(id) === owner) return;
    throw problem(404, 'SANDBOX_NOT_FOUND', `There is no sandbox ${JSON.stringify(id.slice(0, 100))}.`, {
      hint: 'Take an id that POST /v1/sandboxes answered with this key; GET /v1/sandboxes lists those that live.',
      details: { sandbox_id: id.slice(0, 100) },
    });
  }

  #remember(id: string, owner: string): void {
    this.#owners.delete(id);
    this.#owners.set(id, owner);
    const alive = new Set(this.#manager.list().map((sandbox) => sandbox.id));
    const ended = [...this.#owners.keys()].filter((known) => !alive.has(known) && known !== id);
    for (const old of ended.slice(0, Math.max(0, ended.length - REMEMBERED))) this.#owners.delete(old);
  }
}

function sandboxToJson(
  { id, runtime, language, createdAt, expiresAt, lastUsedAt, running }: SandboxInfo,
  { enforced, warnings }: LiveSandbox,
): Readonly<Record<string, unknown>> {
  return {
    ...{ sandbox_id: id, runtime, language, created_at: createdAt, expires_at: expiresAt },
    ...{ last_used_at: lastUsedAt, running, enforced: enforcedToJson(enforced), warnings },
  };
}
