import type { Duplex } from 'node:stream';
import { isSandboxError, SandboxError } from '../errors.ts';
import type { Enforced } from '../runtimes/runtime.ts';
import type { Background } from './background.ts';
import {
  checkPort,
  connectThrough,
  directConnector,
  type Forwarding,
  forwardPort,
  type PortConnector,
} from './ports.ts';

export interface SandboxPortsParts {
  readonly enforced: Enforced;
  /** Whether ports inside may be reached from this host. */
  readonly mayForward: boolean;
  /** The background processes, in the order of their start. */
  readonly processes: () => readonly Background[];
  /** Counts a connection as use of the sandbox, until what it returns is called. */
  readonly using: () => () => void;
}

/** What listens inside one sandbox: waiting for it, and ways to it from this host. */
export class SandboxPorts {
  readonly #parts: SandboxPortsParts;
  readonly #forwardings = new Set<Forwarding>();

  constructor(parts: SandboxPortsParts) {
    this.#parts = parts;
  }

  /** Throws `WAIT_FAILED` when nobody listens on the port in time. */
  async waitFor(background: Background, port: number, timeoutSec: number): Promise<void> {
    checkPort(port);
    const attempt = async (): Promise<boolean> => {
      try {
        const connection = await connectThrough(this.#connectors(background), port);
        connection.on('error', () => {});
        connection.destroy();
        return true;
      } catch (error) {
        if (isSandboxError(error) && error.code === 'POLICY_NOT_ENFORCEABLE') throw error;
        return false;
      }
    };
    await background.waitUntil(`Nobody listened on port ${port}`, timeoutSec, attempt);
  }

  /** Throws `POLICY_DENIED` where the sandbox was not made for it. */
  async forward(port: number, { hostPort = 0 }: { readonly hostPort?: number }): Promise<Forwarding> {
    checkPort(port);
    checkPort(hostPort, { zero: true });
    if (!this.#parts.mayForward) {
      throw new SandboxError('POLICY_DENIED', 'This sandbox was made without forwarding of ports.', {
        hint: 'Make it with forwardPorts: true.',
        details: { port },
      });
    }
    const open = (): Promise<Duplex> => connectThrough(this.#connectors(), port);
    const made = await forwardPort(open, { hostPort, using: this.#parts.using });
    const forwarding: Forwarding = {
      ...made,
      close: () => {
        this.#forwardings.delete(forwarding);
        return made.close();
      },
    };
    this.#forwardings.add(forwarding);
    return forwarding;
  }

  /** Ends all ways to it. */
  async close(): Promise<void> {
    await Promise.all([...this.#forwardings].map((forwarding) => forwarding.close()));
  }

  /** The network of this process first, then those of the others, the newest first. */
  #connectors(first?: Background): PortConnector[] {
    const { enforced, processes } = this.#parts;
    const running = processes()
      .filter(({ status }) => status === 'running')
      .reverse();
    const relays = [...(first === undefined ? [] : [first]), ...running].flatMap(
      ({ program }) => program.relay ?? [],
    );
    const direct = directConnector(enforced);
    return [...new Set(relays), ...(direct === undefined ? [] : [direct])];
  }
}
