/** The loop: a model is asked, what it wants is done, and it is told what came of it, until it answers. */

import type { LanguageModel, ModelMessage, ToolResultPart } from 'ai';
import { SandboxError } from '../errors.ts';
import { failed } from '../operations/tools/answers.ts';
import type { ToolAnswer } from '../operations/tools/tool.ts';
import type { AgentTool } from './agentTool.ts';
import type { AgentEvent } from './event.ts';
import {
  type AgentLimits,
  assertTold,
  checkLimits,
  costUsd,
  type Reached,
  reachedLimit,
  type Spent,
} from './limits.ts';
import { type Memory, type Usage, withCall } from './memory/memory.ts';
import { askModel, type Reply, type WantedCall } from './model/askModel.ts';
import { modelOutput, withoutPictures } from './modelOutput.ts';
import { SYSTEM_PROMPT } from './systemPrompt.ts';

export interface AgentRun {
  readonly model: LanguageModel;
  readonly tools: readonly AgentTool[];
  /** Whether it takes pictures as results of tools; each is shown once. */
  readonly seesPictures?: boolean;
  /** What was before: `newMemory`, or what was kept. */
  readonly memory: Memory;
  readonly limits?: AgentLimits;
  /** Ends what runs; what was said so far is kept. */
  readonly signal?: AbortSignal | undefined;
  /** What an error must not say, such as the key of the model. */
  readonly secrets?: readonly string[];
  /** Waited for, in the order of what happens. */
  readonly onEvent?: (event: AgentEvent) => void | Promise<void>;
  /** Given the memory after each step, before the next one begins. */
  readonly keep?: (memory: Memory) => void | Promise<void>;
}

export type AgentEnd =
  | { readonly ended: 'answered'; readonly text: string }
  | ({ readonly ended: 'stopped' } & Reached);

/**
 * Goes on until the model answers or a limit is reached. Throws `MODEL_FAILED`, and the reason of the signal; the last memory
 * that was kept is good to go on with then.
 */
export async function runAgent(run: AgentRun): Promise<AgentEnd> {
  const { limits = {}, signal, secrets = [], onEvent = () => {}, keep = () => {} } = run;
  checkLimits(limits);
  let memory = run.memory;
  let spent: Spent = { inputTokens: 0, outputTokens: 0 };
  await keep(memory);
  for (let step = 1; ; step += 1) {
    const reached = reachedLimit(step - 1, spent, limits);
    if (reached !== undefined) {
      await onEvent({ type: 'stopped', ...reached });
      return { ended: 'stopped', ...reached };
    }
    const { model, tools } = run;
    const { messages } = memory;
    const reply = await askModel({ model, system: SYSTEM_PROMPT, messages, tools, signal, secrets });
    const used = assertTold(reply.spent, limits);
    spent = sum(spent, used);
    memory = { ...memory, usage: withSpent(memory.usage, used, limits) };
    if (reply.calls.length === 0) return answered(reply, memory, { step, onEvent, keep });
    await tellThought(reply, step, onEvent);
    memory = await called(reply, memory, { run, step });
    await keep(memory);
    await onEvent({ type: 'usage', step, usage: memory.usage });
    signal?.throwIfAborted();
  }
}

type Watcher = Required<Pick<AgentRun, 'onEvent' | 'keep'>> & { readonly step: number };

async function answered(reply: Reply, before: Memory, { step, onEvent, keep }: Watcher): Promise<AgentEnd> {
  const memory = { ...before, messages: [...before.messages, ...reply.messages] };
  if (reply.text.trim() === '' || reply.finishReason === 'error' || reply.finishReason === 'content-filter') {
    await keep(before);
    throw new SandboxError('MODEL_FAILED', `The model ended without an answer (${reply.finishReason}).`, {
      hint: 'Go on with --resume, or ask another model.',
      details: { finish_reason: reply.finishReason },
    });
  }
  await keep(memory);
  if (reply.thought.trim() !== '') await onEvent({ type: 'thought', step, text: reply.thought });
  const text = reply.finishReason === 'length' ? `${reply.text}\n${CUT}` : reply.text;
  await onEvent({ type: 'answer', text, usage: memory.usage });
  return { ended: 'answered', text };
}

const CUT = '... (cut: the model has reached the length of its answers)';

async function tellThought(
  { thought, text }: Reply,
  step: number,
  onEvent: Watcher['onEvent'],
): Promise<void> {
  for (const said of [thought, text]) {
    if (said.trim() !== '') await onEvent({ type: 'thought', step, text: said });
  }
}

/** Calls the first of what is wanted; the others are told to wait. */
async function called(
  { calls, messages }: Reply,
  memory: Memory,
  { run, step }: { readonly run: AgentRun; readonly step: number },
): Promise<Memory> {
  const [first, ...others] = calls as [WantedCall, ...WantedCall[]];
  const { onEvent = () => {}, seesPictures = false } = run;
  const { name: tool, input } = first;
  const at = new Date().toISOString();
  await onEvent({ type: 'call', step, tool, input });
  const answer = await callOne(first, run);
  const told = { step, tool, is_error: answer.isError, text: answer.text };
  await onEvent({ type: 'result', ...told });
  if (others.length > 0) await onEvent({ type: 'not_called', step, tools: others.map(({ name }) => name) });
  const results: ModelMessage = {
    role: 'tool',
    content: [
      resultPart(first, modelOutput(answer, { seesPictures })),
      ...others.map((other) => resultPart(other, { type: 'error-text', value: ONE_AT_A_TIME })),
    ],
  };
  const before = { ...memory, messages: [...memory.messages.map(withoutPictures), ...messages, results] };
  return withCall(before, { at, tool, input, is_error: answer.isError, result: answer.structured });
}

const ONE_AT_A_TIME =
  'Not called: one tool at a time. Look at the result of the first call, and call this one again where it is still needed.';

async function callOne(
  { name, input, unusable }: WantedCall,
  { tools, signal }: AgentRun,
): Promise<ToolAnswer> {
  const tool = tools.find((one) => one.name === name);
  if (tool !== undefined && unusable === undefined)
    return tool.call(input, signal === undefined ? {} : { signal });
  const because = tool === undefined ? `There is no tool called ${JSON.stringify(name)}.` : unusable;
  return failed(
    new SandboxError('INPUT_INVALID', because ?? 'The call cannot be understood.', {
      hint: `Call one of: ${tools.map((one) => one.name).join(', ')}.`,
    }),
  );
}

function resultPart({ id, name }: WantedCall, output: ToolResultPart['output']): ToolResultPart {
  return { type: 'tool-result', toolCallId: id, toolName: name, output };
}

function sum(a: Spent, b: Spent): Spent {
  return { inputTokens: a.inputTokens + b.inputTokens, outputTokens: a.outputTokens + b.outputTokens };
}

function withSpent(usage: Usage, spent: Spent, { prices }: AgentLimits): Usage {
  const cost = costUsd(spent, prices);
  return {
    steps: usage.steps + 1,
    input_tokens: usage.input_tokens + spent.inputTokens,
    output_tokens: usage.output_tokens + spent.outputTokens,
    ...(cost === undefined && usage.cost_usd === undefined
      ? {}
      : { cost_usd: (usage.cost_usd ?? 0) + (cost ?? 0) }),
  };
}
