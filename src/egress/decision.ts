import type { RefusalCode } from './refusal.ts';

/** A request that the rules let pass, before anybody is looked up or dialled for it. */
export interface Passing extends Pick<NetworkDecision, 'at' | 'host' | 'port' | 'via' | 'method'> {
  /** Tells it from others. */
  readonly connection: string;
}

/** Who is told of decisions. */
export interface DecisionListeners {
  /** Waited for before anybody is looked up or dialled; when it rejects, nobody is. */
  readonly onPassing?: (passing: Passing) => Promise<unknown>;
  /**
   * Told each decision once, when it is finished and its numbers are final: for a tunnel, when it has closed. With what
   * `onPassing` was told, where it was.
   */
  readonly onDecision?: (decision: NetworkDecision, passing?: Passing) => void;
}

/** What became of one request of a sandbox to reach somebody: a tunnel, or one plain request. */
export interface NetworkDecision {
  /** When it was decided, ISO 8601. */
  readonly at: string;
  /** The canonical name; empty where none could be read. */
  readonly host: string;
  /** 0 where none could be read. */
  readonly port: number;
  /** `connect`: a tunnel, whose content we do not see. `http`: one plain request. */
  readonly via: 'connect' | 'http';
  /** Of a plain request. */
  readonly method?: string;
  /** Whether the rules let it pass. With a `code` all the same, it came to nothing for a reason outside. */
  readonly allowed: boolean;
  /** Why it came to nothing, in one word and in one sentence. */
  readonly code?: RefusalCode;
  readonly reason?: string;
  /** The address that was dialled, or that was the reason not to. */
  readonly address?: string;
  /** What went to the host and what came from it, as bytes on the wire, handshakes included. */
  readonly bytesUp: number;
  readonly bytesDown: number;
  /** From the decision to the end of the connection to the host, or so far. */
  readonly durationSec: number;
}
