import { Readable } from 'node:stream';
import type { Enforced, Guest, Probe, Runtime, SandboxSpec, WarmedBy } from '../../src/runtimes/runtime.ts';

const HERE: Probe = {
  available: true,
  version: '1',
  capabilities: {
    ...{ isolation: 'container', network: ['none', 'open'], filesystem: 'private', processes: 'contained' },
    seccomp: true,
    limits: {
      ...{ memoryMb: 'engine', diskMb: 'engine', processes: 'engine', cpu: 'engine', timeoutSec: 'timer' },
    },
  },
};

/** One guest of a `WarmRuntime`, and what became of it. */
export interface MadeGuest {
  readonly spec: SandboxSpec;
  readonly guest: Guest;
  spawned: number;
  destroyed: number;
  /** What its interpreter waits for ends by itself. */
  lose(): void;
}

/** A driver whose interpreters wait, without any process; what it does next can be changed at any time. */
export class WarmRuntime implements Runtime {
  readonly name: string;
  readonly made: MadeGuest[] = [];
  /** What `create` says of a guest that was asked to wait; undefined for a driver that leaves the wish alone. */
  warmedBy: WarmedBy | undefined = 'waiting_interpreter';
  failCreate: Error | undefined;
  failDestroy: Error | undefined;
  failSpawn: Error | undefined;
  /** How many guests there were whenever it was told that nothing more is needed. */
  readonly rested: number[] = [];
  /** What `create` waits for. */
  until: Promise<void> = Promise.resolve();

  constructor(name = 'warm') {
    this.name = name;
  }

  async probe(): Promise<Probe> {
    return HERE;
  }

  async create(spec: SandboxSpec, signal?: AbortSignal): Promise<Guest> {
    await this.until;
    signal?.throwIfAborted();
    if (this.failCreate !== undefined) throw this.failCreate;
    const made = this.#guest(spec);
    this.made.push(made);
    return made.guest;
  }

  async rest(): Promise<void> {
    this.rested.push(this.alive.length);
  }

  /** Of those that were made to wait, how many have not been ended. */
  get alive(): readonly MadeGuest[] {
    return this.made.filter(({ destroyed }) => destroyed === 0);
  }

  #guest(spec: SandboxSpec): MadeGuest {
    let lose = (): void => {};
    const lost = new Promise<string>((resolve) => {
      lose = () => resolve('It is gone.');
    });
    const warmedBy = spec.warm === undefined ? undefined : this.warmedBy;
    const made: MadeGuest = {
      ...{ spec, spawned: 0, destroyed: 0, lose },
      guest: {
        ...(warmedBy === undefined ? {} : { warmedBy }),
        ...{
          enforced: enforcedFor(spec),
          workspace: '/workspace',
          sharesLoopback: false,
          environment: {},
          lost,
        },
        interpreter: async () => ({ path: '/usr/bin/python3', version: '3' }),
        spawn: async () => {
          if (this.failSpawn !== undefined && spec.warm !== undefined) throw this.failSpawn;
          made.spawned++;
          return {
            ...{ stdout: Readable.from([Buffer.from(spec.id)]), stderr: Readable.from([]) },
            exit: Promise.resolve({ code: 0, outOfMemory: false }),
            kill: async () => {},
          };
        },
        readFile: async () => new Uint8Array(),
        writeFile: async () => {},
        listFiles: async () => [],
        removeFile: async () => {},
        pack: async () => Object.assign(Readable.from([]), { leftOut: [] }),
        unpack: async () => ({ files: 0, folders: 0, bytes: 0 }),
        destroy: async () => {
          made.destroyed++;
          if (this.failDestroy !== undefined) throw this.failDestroy;
        },
      },
    };
    return made;
  }
}

function enforcedFor({ policy }: SandboxSpec): Enforced {
  const held = { value: 1, by: 'engine', default: true } as const;
  return {
    ...{ isolation: 'container', network: policy.network, filesystem: 'private', processes: 'contained' },
    ...{ seccomp: true, uid: 1 },
    limits: { memoryMb: held, diskMb: held, processes: held, cpu: held, timeoutSec: held },
  };
}
