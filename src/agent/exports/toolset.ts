import type { Approver } from '../../gate/approval/question.ts';
import { createContext } from '../../operations/context.ts';
import type { SandboxOptions } from '../../operations/getSandbox.ts';
import type { SandboxManager } from '../../operations/sandboxManager.ts';
import { failed } from '../../operations/tools/answers.ts';
import type { ToolAnswer, ToolCallOptions } from '../../operations/tools/tool.ts';
import { Toolbox } from '../../operations/tools/toolbox.ts';
import type { AgentTool } from '../agentTool.ts';
import { sandboxTools } from '../sandboxTools.ts';

/** Where the code of a model runs, and who is asked before. */
export interface ToolsOptions extends SandboxOptions {
  /** Ways to a person besides `glovebox approvals`, where the settings ask for a gate. */
  readonly approvers?: readonly Approver[];
  /** Makes the sandboxes, which count there; one of its own otherwise. */
  readonly manager?: SandboxManager;
  /** How long the text of an answer may be, in bytes; 16,384 by default. */
  readonly maxTextBytes?: number;
}

/** Tools in the form of one framework, over one set of sandboxes. Whoever makes them closes them, or says `await using`. */
export interface Tools<Form, Output> extends AsyncDisposable {
  /** For the framework. */
  readonly tools: Form;
  /** Does what a model has called; `input` is an object, or its JSON. Never rejects. */
  handleToolCall(name: string, input: unknown, options?: ToolCallOptions): Promise<Output>;
  /** Ends every sandbox that was made; safe to call twice. */
  close(): Promise<void>;
}

/**
 * Opens the tools for one agent, with what the settings say of agents. Throws `CONFIG_INVALID` where the settings cannot be
 * used.
 */
export async function openTools<Form, Output>(
  { manager, maxTextBytes, ...options }: ToolsOptions,
  form: (tools: readonly AgentTool[]) => Form | Promise<Form>,
  output: (answer: ToolAnswer) => Output,
): Promise<Tools<Form, Output>> {
  const toolbox = new Toolbox({
    context: await createContext({ ...options, surface: 'agent' }),
    ...(manager === undefined ? {} : { manager }),
    ...(maxTextBytes === undefined ? {} : { maxTextBytes }),
  });
  const close = () => toolbox.close();
  return {
    tools: await form(sandboxTools(toolbox)),
    handleToolCall: async (name, input, callOptions) => output(await call(toolbox, name, input, callOptions)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function call(
  toolbox: Toolbox,
  name: string,
  input: unknown,
  options: ToolCallOptions | undefined,
): Promise<ToolAnswer> {
  try {
    return await toolbox.call(name, typeof input === 'string' ? JSON.parse(input) : input, options);
  } catch (error) {
    // It is no JSON.
    return failed(error);
  }
}
