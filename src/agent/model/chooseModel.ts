import { SandboxError } from '../../errors.ts';

/** Whom to ask, and what the key is called. */
export const PROVIDERS = {
  anthropic: { variable: 'ANTHROPIC_API_KEY', model: 'claude-sonnet-5-5' },
  openai: { variable: 'OPENAI_API_KEY', model: 'gpt-5.5' },
  google: { variable: 'GOOGLE_GENERATIVE_AI_API_KEY', model: 'gemini-flash-latest' },
} as const;
type KeyedProvider = keyof typeof PROVIDERS;

export interface ModelWish {
  /** `PROVIDER/NAME`; otherwise that of the first provider whose key is there. */
  readonly model?: string;
  /** Of an OpenAI-compatible server. */
  readonly baseUrl?: string;
  /** The variable that holds the key of an OpenAI-compatible server; without it no key is sent. */
  readonly keyVariable?: string;
}

/** A model, and all that is needed to ask it. */
export type ChosenModel =
  | { readonly provider: KeyedProvider; readonly name: string; readonly key: string }
  | {
      readonly provider: 'openai-compatible';
      readonly name: string;
      readonly baseUrl: string;
      readonly key?: string;
    };

type Environment = Readonly<Record<string, string | undefined>>;

/** Which model is asked. Pure. Throws `INPUT_INVALID` for what is no model, and `CONFIG_INVALID` where its key is missing. */
export function chooseModel(wish: ModelWish, environment: Environment): ChosenModel {
  const { model = defaultModel(environment), baseUrl, keyVariable } = wish;
  const slash = model.indexOf('/');
  const provider = model.slice(0, Math.max(slash, 0));
  const name = model.slice(slash + 1);
  if (name === '' || !(provider === 'openai-compatible' || Object.hasOwn(PROVIDERS, provider)))
    throw noModel(model);
  if (provider === 'openai-compatible') {
    const key = keyVariable === undefined ? undefined : keyIn(environment, keyVariable);
    return { provider, name, baseUrl: checkedUrl(model, baseUrl), ...(key === undefined ? {} : { key }) };
  }
  if (baseUrl !== undefined || keyVariable !== undefined) throw onlyForCompatible(model);
  const keyed = provider as KeyedProvider;
  return { provider: keyed, name, key: keyIn(environment, PROVIDERS[keyed].variable) };
}

/** As it is asked for and shown. */
export function modelName({ provider, name }: ChosenModel): string {
  return `${provider}/${name}`;
}

/** Whether pictures can be results of its tools: Chat Completions has no place for them. */
export function seesPictures({ provider }: ChosenModel): boolean {
  return provider !== 'openai-compatible';
}

function defaultModel(environment: Environment): string {
  for (const [provider, { variable, model }] of Object.entries(PROVIDERS)) {
    if (environment[variable]) return `${provider}/${model}`;
  }
  const variables = Object.values(PROVIDERS).map(({ variable }) => variable);
  throw new SandboxError(
    'CONFIG_INVALID',
    `There is no model to ask: none of ${variables.join(', ')} is set.`,
    {
      hint: 'Set one of them to your key, or use a model of this machine: --model openai-compatible/NAME --base-url http://127.0.0.1:11434/v1',
    },
  );
}

function keyIn(environment: Environment, variable: string): string {
  const key = environment[variable];
  if (key) return key;
  throw new SandboxError('CONFIG_INVALID', `The model needs a key, and ${variable} is not set.`, {
    hint: `Set it: export ${variable}=…`,
    details: { variable },
  });
}

function checkedUrl(model: string, baseUrl: string | undefined): string {
  if (baseUrl !== undefined && URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol))
    return baseUrl;
  const what = baseUrl === undefined ? 'needs an address' : `cannot be at ${JSON.stringify(baseUrl)}`;
  throw new SandboxError('INPUT_INVALID', `The model ${JSON.stringify(model)} ${what}.`, {
    hint: 'Name the server, as in: --base-url http://127.0.0.1:11434/v1',
  });
}

function noModel(model: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `${JSON.stringify(model)} is no model.`, {
    hint: `Write PROVIDER/NAME, with one of: ${[...Object.keys(PROVIDERS), 'openai-compatible'].join(', ')}.`,
  });
}

function onlyForCompatible(model: string): SandboxError {
  return new SandboxError(
    'INPUT_INVALID',
    `--base-url and --key-variable are for an OpenAI-compatible server, and the model is ${JSON.stringify(model)}.`,
    { hint: 'Leave them out, or write --model openai-compatible/NAME.' },
  );
}
