import { SandboxError } from '../../errors.ts';
import type { Clock } from './clock.ts';
import { type Grant, isInForce, useUp, type Wanted } from './grant.ts';

/** Where grants are kept. */
export interface GrantKeeper {
  /**
   * Lets one change be made at a time, among all who share them: the action gets the grants that are there, and those
   * that it returns are there afterwards. It may be called more than once, and only its last result counts.
   */
  change<T>(action: (grants: readonly Grant[]) => Change<T>): Promise<T>;
}

export interface Change<T> {
  readonly kept: readonly Grant[];
  readonly result: T;
}

/** Remembered yeses: given, used up, listed and revoked. */
export class Grants {
  readonly #keeper: GrantKeeper;
  readonly #clock: Clock;

  /** Without a keeper they last as long as this object. */
  constructor({ keeper = inMemory(), clock = Date.now }: { keeper?: GrantKeeper; clock?: Clock } = {}) {
    this.#keeper = keeper;
    this.#clock = clock;
  }

  async add(grant: Grant): Promise<void> {
    await this.#keeper.change((grants) => ({ kept: [...grants, grant], result: undefined }));
  }

  /** Finds one that holds and uses it up in one step, also among processes; undefined where none does. */
  take(wanted: Wanted): Promise<Grant | undefined> {
    return this.#keeper.change((grants) => {
      const { kept, used } = useUp(grants, wanted, this.#clock());
      return { kept, result: used };
    });
  }

  /** Those in force, the oldest first. */
  list(): Promise<readonly Grant[]> {
    return this.#keeper.change((grants) => {
      const kept = grants.filter((grant) => isInForce(grant, this.#clock()));
      return { kept, result: kept.toSorted(byAge) };
    });
  }

  /** From then on it holds for nothing. Rejects with `INPUT_INVALID` where there is none of this id. */
  async revoke(id: string): Promise<Grant> {
    const [revoked] = await this.#remove((grant) => grant.id === id);
    if (revoked !== undefined) return revoked;
    throw new SandboxError(
      'INPUT_INVALID',
      `There is no grant of the id ${JSON.stringify(id.slice(0, 40))}.`,
      {
        hint: 'It may have expired, or been used up or revoked. See those in force: glovebox approvals grants.',
      },
    );
  }

  revokeAll(): Promise<readonly Grant[]> {
    return this.#remove(() => true);
  }

  /** Those that hold in a sandbox go with it. */
  endSandbox(sandboxId: string): Promise<readonly Grant[]> {
    return this.#remove((grant) => grant.sandboxId === sandboxId);
  }

  #remove(isMeant: (grant: Grant) => boolean): Promise<readonly Grant[]> {
    return this.#keeper.change((grants) => {
      const inForce = grants.filter((grant) => isInForce(grant, this.#clock()));
      return {
        kept: inForce.filter((grant) => !isMeant(grant)),
        result: inForce.filter(isMeant).toSorted(byAge),
      };
    });
  }
}

function byAge(a: Grant, b: Grant): number {
  return Date.parse(a.givenAt) - Date.parse(b.givenAt);
}

function inMemory(): GrantKeeper {
  let kept: readonly Grant[] = [];
  return {
    async change(action) {
      const change = action(kept);
      kept = change.kept;
      return change.result;
    },
  };
}
