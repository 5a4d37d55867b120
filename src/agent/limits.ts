/** How far an agent may go. Pure. */
import { SandboxError } from '../errors.ts';

export interface Spent {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** US dollars for a million tokens. */
export interface Prices {
  readonly input: number;
  readonly output: number;
}

/** Of one run. They are looked at before each question to the model, so that the last one may exceed them. */
export interface AgentLimits {
  /** Questions to the model; 20 by default. */
  readonly maxSteps?: number;
  /** Both directions together. */
  readonly maxTokens?: number;
  /** US dollars; only with prices. */
  readonly maxCostUsd?: number;
  readonly prices?: Prices;
}

export const DEFAULT_MAX_STEPS = 20;

/** Throws `INPUT_INVALID` for limits that cannot be held. */
export function checkLimits({ maxSteps, maxTokens, maxCostUsd, prices }: AgentLimits): void {
  if (maxSteps !== undefined && !(Number.isInteger(maxSteps) && maxSteps > 0))
    throw notPositive('steps', maxSteps);
  if (maxTokens !== undefined && !(maxTokens > 0)) throw notPositive('tokens', maxTokens);
  if (maxCostUsd !== undefined && !(maxCostUsd > 0)) throw notPositive('dollars', maxCostUsd);
  if (prices !== undefined && !(prices.input >= 0 && prices.output >= 0)) {
    throw new SandboxError('INPUT_INVALID', 'A price is not a number of dollars.', {
      hint: 'Give dollars for a million tokens: --price-in 3 --price-out 15',
    });
  }
  if (maxCostUsd !== undefined && prices === undefined) {
    throw new SandboxError(
      'INPUT_INVALID',
      'A limit in dollars needs the prices of the model, which nobody has told.',
      {
        hint: 'Give them in dollars for a million tokens: --price-in 3 --price-out 15, or limit tokens: --max-tokens 200000',
      },
    );
  }
}

/** In US dollars; undefined where no prices are known. */
export function costUsd(
  { inputTokens, outputTokens }: Spent,
  prices: Prices | undefined,
): number | undefined {
  if (prices === undefined) return undefined;
  return (inputTokens * prices.input + outputTokens * prices.output) / 1_000_000;
}

export interface Reached {
  readonly limit: 'steps' | 'tokens' | 'cost';
  /** A whole sentence, with the values. */
  readonly because: string;
}

/** Which limit says that the model must not be asked again. */
export function reachedLimit(steps: number, spent: Spent, limits: AgentLimits): Reached | undefined {
  const { maxSteps = DEFAULT_MAX_STEPS, maxTokens, maxCostUsd, prices } = limits;
  const tokens = spent.inputTokens + spent.outputTokens;
  const cost = costUsd(spent, prices);
  if (steps >= maxSteps)
    return {
      limit: 'steps',
      because: `The limit of ${maxSteps} ${maxSteps === 1 ? 'step' : 'steps'} is reached.`,
    };
  if (maxTokens !== undefined && tokens >= maxTokens)
    return { limit: 'tokens', because: `${tokens} tokens were used; the limit is ${maxTokens}.` };
  if (maxCostUsd !== undefined && cost !== undefined && cost >= maxCostUsd)
    return { limit: 'cost', because: `$${cost.toFixed(4)} were spent; the limit is $${maxCostUsd}.` };
  return undefined;
}

/** Throws `MODEL_FAILED` where what was spent is limited and the model does not tell it. */
export function assertTold(spent: Spent | undefined, { maxTokens, maxCostUsd }: AgentLimits): Spent {
  if (spent !== undefined) return spent;
  if (maxTokens === undefined && maxCostUsd === undefined) return { inputTokens: 0, outputTokens: 0 };
  throw new SandboxError(
    'MODEL_FAILED',
    'The model does not say how many tokens it used, so the limit of tokens or dollars cannot be held.',
    { hint: 'Limit the steps instead: --max-steps 10' },
  );
}

function notPositive(what: string, value: number): SandboxError {
  return new SandboxError('INPUT_INVALID', `A limit of ${value} ${what} cannot be held.`, {
    hint: 'Give a number above zero.',
  });
}
