import { type AgentLimits, checkLimits } from '../../agent/limits.ts';
import { type ChosenModel, chooseModel, modelName, seesPictures } from '../../agent/model/chooseModel.ts';
import { loadModel } from '../../agent/model/loadModel.ts';
import { openAgent } from '../../agent/openAgent.ts';
import type { AgentEnd } from '../../agent/runAgent.ts';
import { environmentOf } from '../../config/index.ts';
import { SandboxError } from '../../errors.ts';
import { createContext } from '../../operations/context.ts';
import { terminalApprover } from '../../operations/terminalApprover.ts';
import { cancellable } from '../cancel.ts';
import { passOn } from '../passOn.ts';
import { settingFlags } from '../settingFlags.ts';
import { tellWhereToAnswer, warn } from '../warn.ts';
import { showEvent } from './showEvent.ts';

export interface AgentFlags {
  readonly model?: string;
  readonly baseUrl?: string;
  readonly keyVariable?: string;
  readonly maxSteps?: string;
  readonly maxTokens?: string;
  readonly maxCostUsd?: string;
  readonly priceIn?: string;
  readonly priceOut?: string;
  readonly memory?: string;
  readonly resume?: boolean;
  readonly tools?: string;
  readonly mcp?: string;
  readonly runtime?: string;
  readonly minIsolation?: string;
  readonly config?: string;
  readonly json?: boolean;
}

/** The exit status when a limit ended it before there was an answer. */
const LIMIT_REACHED = 124;

/** Lets a model solve a task and resolves to the exit status. */
export async function runAgentCommand(task: string | undefined, flags: AgentFlags): Promise<number> {
  const limits = limitsOf(flags);
  checkLimits(limits);
  const { model, baseUrl, keyVariable } = flags;
  const chosen = chooseModel(
    {
      ...(model === undefined ? {} : { model }),
      ...(baseUrl === undefined ? {} : { baseUrl }),
      ...(keyVariable === undefined ? {} : { keyVariable }),
    },
    environmentOf({}),
  );
  silenceWarnings();
  return cancellable(async (signal) => {
    const { ended } = await solve(task, chosen, { flags, limits, signal });
    return ended === 'answered' ? 0 : LIMIT_REACHED;
  });
}

interface Surroundings {
  readonly flags: AgentFlags;
  readonly limits: AgentLimits;
  readonly signal: AbortSignal;
}

async function solve(
  task: string | undefined,
  chosen: ChosenModel,
  { flags, limits, signal }: Surroundings,
): Promise<AgentEnd> {
  await using agent = await openAgent({
    ...{ context: await contextOf(flags), limits, onWarning: warn },
    ...{ model: await loadModel(chosen), modelName: modelName(chosen), seesPictures: seesPictures(chosen) },
    ...{ memory: flags.memory ?? 'agent_memory.json', secrets: chosen.key === undefined ? [] : [chosen.key] },
    ...(flags.tools === undefined ? {} : { toolsFolder: flags.tools }),
    ...(flags.mcp === undefined ? {} : { mcpFile: flags.mcp }),
    onEvent: async (event) => {
      for (const { stream, text } of showEvent(event, { json: flags.json === true }))
        await passOn({ stream, bytes: Buffer.from(text) });
    },
  });
  return await agent.run(task, { resume: flags.resume === true, signal });
}

function contextOf(flags: AgentFlags) {
  return createContext({
    trustEarlierTrial: true,
    surface: 'agent',
    approvers: [terminalApprover(tellWhereToAnswer)],
    ...(flags.config === undefined ? {} : { configFile: flags.config }),
    ...settingFlags({ '--runtime': flags.runtime, '--min-isolation': flags.minIsolation }),
  });
}

function limitsOf({ maxSteps, maxTokens, maxCostUsd, priceIn, priceOut }: AgentFlags): AgentLimits {
  if ((priceIn === undefined) !== (priceOut === undefined)) {
    throw new SandboxError('INPUT_INVALID', 'One of the two prices is missing.', {
      hint: 'Give both, in US dollars for a million tokens: --price-in 3 --price-out 15',
    });
  }
  return {
    ...(maxSteps === undefined ? {} : { maxSteps: number('--max-steps', maxSteps) }),
    ...(maxTokens === undefined ? {} : { maxTokens: number('--max-tokens', maxTokens) }),
    ...(maxCostUsd === undefined ? {} : { maxCostUsd: number('--max-cost-usd', maxCostUsd) }),
    ...(priceIn === undefined || priceOut === undefined
      ? {}
      : { prices: { input: number('--price-in', priceIn), output: number('--price-out', priceOut) } }),
  };
}

function number(flag: string, text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new SandboxError('INPUT_INVALID', `${flag} takes a number, not ${JSON.stringify(text)}.`, {
    hint: `Write it as in: ${flag} 10`,
  });
}

/** The AI SDK would print its warnings to standard output, which is for the answer. */
function silenceWarnings(): void {
  (globalThis as { AI_SDK_LOG_WARNINGS?: false }).AI_SDK_LOG_WARNINGS = false;
}
