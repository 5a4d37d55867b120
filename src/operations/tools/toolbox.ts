import type { Context } from '../context.ts';
import type { LiveSandbox } from '../liveSandbox.ts';
import type { SandboxInfo, SandboxManager } from '../sandboxManager.ts';
import type { Tool, ToolAnswer, ToolCallOptions } from './tool.ts';

/** The tools, in the order in which they are told to a model. */
export const TOOLS: readonly Tool[] = [];

export interface ToolboxOptions {
  /** The settings, and for whom is asked: with a surface that hands tools to a model. */
  readonly context: Context;
  /** The sandboxes that it may use besides its own; one of its own otherwise. */
  readonly manager?: SandboxManager;
  /** How long the text of an answer may be, in characters; 16,384 by default. */
  readonly maxTextCharacters?: number;
}

/** The tools of one agent, with the sandboxes that it has made: an id of another agent is not known here. */
export class Toolbox implements AsyncDisposable {
  constructor(_options: ToolboxOptions) {}
  /** Never rejects. */
  call(_name: string, _input: unknown, _options: ToolCallOptions = {}): Promise<ToolAnswer> {
    throw new Error('not yet');
  }
  /** Of this agent alone. */
  sandboxes(): readonly SandboxInfo[] {
    return [];
  }
  /** Throws `SANDBOX_NOT_FOUND` or `SANDBOX_CLOSED`. */
  sandbox(_id: string): LiveSandbox {
    throw new Error('not yet');
  }
  /** Ends every sandbox of its own; safe to call twice. */
  async close(): Promise<void> {}
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
