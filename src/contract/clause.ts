/** The words of the suite: a clause is one promise, as data. */
import type { Capabilities, Guest } from '../runtimes/runtime.ts';
import type { Box } from './box.ts';
import type { PolicyWish } from './wish.ts';

/** One promise that every runtime keeps, or refuses to give when it is asked for. */
export type Clause = {
  readonly id: string;
  /** The promise, as a sentence. */
  readonly promise: string;
  /** Throws when the promise does not hold, in a short sentence with what was seen instead. */
  readonly check: (context: ClauseContext) => Promise<void>;
} & (
  | { readonly claimedBy?: never; readonly asks?: never; readonly language?: 'javascript' | 'shell' }
  | {
      /** Whether a runtime with these capabilities says that it keeps it. */
      readonly claimedBy: (capabilities: Capabilities) => boolean;
      /** How a caller asks for it; whoever does not claim it must refuse this. */
      readonly asks: PolicyWish;
      readonly language?: never;
    }
);

/** What a check has to work with. All that it opens is closed for it. */
export interface ClauseContext {
  readonly capabilities: Capabilities;
  /** The runtime's programs are processes that this host's kernel shows to us. */
  readonly hostVisible: boolean;
  /** Aborts at the clause's deadline. */
  readonly signal: AbortSignal;
  /** Makes a sandbox as every caller gets one, with the clause's own wish unless another is given. */
  open(wish?: PolicyWish): Promise<Box>;
  /** Makes a sandbox by the driver alone, without the layer above. */
  guest(wish?: PolicyWish, signal?: AbortSignal): Promise<Guest>;
  /** Asks the runtime again what it can do. */
  probe(): Promise<{ readonly version: string; readonly capabilities: Capabilities }>;
}

/** What the suite found about one clause. */
export interface ClauseReport {
  readonly id: string;
  /** The promise, as a sentence. */
  readonly promise: string;
  /** `kept`: it holds. `refused`: the runtime does not claim it, and refuses when it is asked for. */
  readonly verdict: 'kept' | 'refused' | 'broken';
  readonly because?: string;
}
