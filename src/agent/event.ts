/** What happens in a run, as whoever watches is told; JSON. */
import type { Usage } from './memory/memory.ts';

export type AgentEvent =
  | {
      readonly type: 'start';
      readonly task: string;
      readonly model: string;
      readonly tools: readonly string[];
      readonly resumed: boolean;
    }
  /** What the model thinks or says besides its answer. */
  | { readonly type: 'thought'; readonly step: number; readonly text: string }
  | { readonly type: 'call'; readonly step: number; readonly tool: string; readonly input: unknown }
  | {
      readonly type: 'result';
      readonly step: number;
      readonly tool: string;
      readonly is_error: boolean;
      readonly text: string;
    }
  /** What the model wanted in the same step besides. */
  | { readonly type: 'not_called'; readonly step: number; readonly tools: readonly string[] }
  /** Of all runs together. */
  | { readonly type: 'usage'; readonly step: number; readonly usage: Usage }
  | { readonly type: 'stopped'; readonly limit: 'steps' | 'tokens' | 'cost'; readonly because: string }
  | { readonly type: 'answer'; readonly text: string; readonly usage: Usage };
