import type { LanguageModel } from 'ai';
import type { ChosenModel } from './chooseModel.ts';
import { optionalPackage } from './optionalPackage.ts';

/** The model to ask. Throws `CONFIG_INVALID` where the package of its provider is not installed. */
export async function loadModel(chosen: ChosenModel): Promise<LanguageModel> {
  switch (chosen.provider) {
    case 'anthropic': {
      const load = () => import('@ai-sdk/anthropic');
      const { createAnthropic } = await packageOf('@ai-sdk/anthropic', load);
      return createAnthropic({ apiKey: chosen.key })(chosen.name);
    }
    case 'openai': {
      const load = () => import('@ai-sdk/openai');
      const { createOpenAI } = await packageOf('@ai-sdk/openai', load);
      return createOpenAI({ apiKey: chosen.key })(chosen.name);
    }
    case 'google': {
      const load = () => import('@ai-sdk/google');
      const { createGoogleGenerativeAI } = await packageOf('@ai-sdk/google', load);
      return createGoogleGenerativeAI({ apiKey: chosen.key })(chosen.name);
    }
    case 'openai-compatible': {
      const load = () => import('@ai-sdk/openai-compatible');
      const { createOpenAICompatible } = await packageOf('@ai-sdk/openai-compatible', load);
      const provider = createOpenAICompatible({
        ...{ name: 'openai-compatible', baseURL: chosen.baseUrl, includeUsage: true },
        ...(chosen.key === undefined ? {} : { apiKey: chosen.key }),
      });
      return provider(chosen.name);
    }
  }
}

/** Whoever lacks it probably lacks the AI SDK itself too. */
function packageOf<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  return optionalPackage(name, 'to ask this model', load, `ai ${name}`);
}
