import type { LanguageModel } from 'ai';
import { SandboxError } from '../errors.ts';
import { assertReady } from '../operations/assertReady.ts';
import type { Context } from '../operations/context.ts';
import { Toolbox } from '../operations/tools/toolbox.ts';
import type { AgentTool } from './agentTool.ts';
import type { AgentEvent } from './event.ts';
import { folderTools } from './folder/folderTools.ts';
import { assertDistinct, foreignTool } from './foreignTool.ts';
import type { AgentLimits } from './limits.ts';
import { mcpTools } from './mcp/mcpTools.ts';
import { readServers, secretsOf } from './mcp/serverConfig.ts';
import { type Memory, newMemory } from './memory/memory.ts';
import { readMemory, writeMemory } from './memory/memoryFile.ts';
import { loadAi } from './model/askModel.ts';
import { type AgentEnd, runAgent } from './runAgent.ts';
import { sandboxTools } from './sandboxTools.ts';
import { GO_ON, RESUMED } from './systemPrompt.ts';

export interface AgentOptions {
  /** Settings for the surface `agent`. */
  readonly context: Context;
  readonly model: LanguageModel;
  /** Whether it takes pictures as results of tools. */
  readonly seesPictures?: boolean;
  /** As it is shown and remembered. */
  readonly modelName: string;
  /** The file of its memory. */
  readonly memory: string;
  /** A folder whose documented functions become tools, which run in this process. */
  readonly toolsFolder?: string;
  /** A file that names MCP servers. */
  readonly mcpFile?: string;
  readonly limits?: AgentLimits;
  /** What must not stand in the memory, such as the key of the model. */
  readonly secrets?: readonly string[];
  readonly onEvent?: (event: AgentEvent) => void | Promise<void>;
  /** Told what a person should know, as whole sentences. */
  readonly onWarning?: (warning: string) => void;
}

/** An agent with its tools. Whoever opens it closes it, or says `await using`. */
export interface Agent extends AsyncDisposable {
  /**
   * Solves a task, or goes on with the one in the memory; a task with `resume` is one more of that conversation. Throws
   * `INPUT_INVALID` where there is nothing to do, or the memory cannot be used.
   */
  run(
    task: string | undefined,
    options?: { readonly resume?: boolean; readonly signal?: AbortSignal },
  ): Promise<AgentEnd>;
}

/** Opens the sandboxes, loads the tools and starts the servers of an agent. Throws `CONFIG_INVALID` where one cannot be had. */
export async function openAgent(options: AgentOptions): Promise<Agent> {
  const { context, toolsFolder, mcpFile, onWarning = () => {} } = options;
  // Before a model is paid to find it out.
  await loadAi();
  await assertReady(context);
  const functions = toolsFolder === undefined ? { tools: [], warnings: [] } : await folderTools(toolsFolder);
  for (const warning of functions.warnings) onWarning(warning);
  const configs = mcpFile === undefined ? {} : readServers(mcpFile);
  const servers = await mcpTools(configs);
  const toolbox = new Toolbox({ context });
  const close = async (): Promise<void> => {
    await Promise.all([toolbox.close(), servers[Symbol.asyncDispose]()]);
  };
  const foreign = [...functions.tools, ...servers.tools];
  const tools = [...sandboxTools(toolbox), ...foreign.map((tool) => foreignTool(context, tool))];
  try {
    assertDistinct(tools);
  } catch (error) {
    await close();
    throw error;
  }
  if (foreign.length > 0) onWarning(outsideWarning(foreign.map(({ name }) => name)));
  const secrets = [...(options.secrets ?? []), ...Object.values(configs).flatMap(secretsOf)];
  return {
    run: (task, { resume = false, signal } = {}) =>
      begin({ ...options, secrets, tools, task, isResumed: resume, signal }),
    [Symbol.asyncDispose]: close,
  };
}

interface Beginning extends AgentOptions {
  readonly secrets: readonly string[];
  readonly tools: readonly AgentTool[];
  readonly task: string | undefined;
  readonly isResumed: boolean;
  readonly signal: AbortSignal | undefined;
}

async function begin(beginning: Beginning): Promise<AgentEnd> {
  const {
    model,
    seesPictures = false,
    modelName,
    tools,
    task,
    isResumed,
    limits,
    signal,
    secrets,
    onEvent = () => {},
  } = beginning;
  const path = beginning.memory;
  // A file that is no memory is not replaced by one either.
  const before = await readMemory(path);
  const memory = isResumed ? resumed(before, task, modelName, path) : newMemory(assertTask(task), modelName);
  await onEvent({
    ...{ type: 'start', task: task ?? memory.task, model: modelName },
    ...{ tools: tools.map(({ name }) => name), resumed: isResumed },
  });
  return runAgent({
    ...{ model, seesPictures, tools, memory, signal, secrets, onEvent },
    ...(limits === undefined ? {} : { limits }),
    keep: (kept) => writeMemory(path, kept, secrets),
  });
}

function resumed(before: Memory | undefined, task: string | undefined, model: string, path: string): Memory {
  if (before === undefined) {
    throw new SandboxError(
      'INPUT_INVALID',
      `There is nothing to go on with: ${JSON.stringify(path)} does not exist.`,
      {
        hint: 'Leave --resume out, or name the file: --memory FILE',
      },
    );
  }
  if (task === undefined && before.messages.at(-1)?.role === 'assistant') {
    throw new SandboxError('INPUT_INVALID', 'The task in the memory has been answered.', {
      hint: 'Give a further task: glovebox agent --resume "TASK"',
    });
  }
  const said = task === undefined ? GO_ON : `${task}\n\n(${RESUMED})`;
  return { ...before, model, messages: [...before.messages, { role: 'user', content: said }] };
}

function assertTask(task: string | undefined): string {
  if (task !== undefined && task.trim() !== '') return task;
  throw new SandboxError('INPUT_INVALID', 'There is no task.', {
    hint: 'Say what is to be done: glovebox agent "Compute 2 + 2 with Python"',
  });
}

function outsideWarning(names: readonly string[]): string {
  return `These tools run outside of any sandbox, with all that you may do: ${names.join(', ')}.`;
}
