import type { LanguageModel } from 'ai';
import type { ChosenModel } from './chooseModel.ts';
import { optionalPackage } from './optionalPackage.ts';

/** The model to ask. Throws `CONFIG_INVALID` where the package of its provider is not installed. */
export async function loadModel(chosen: ChosenModel): Promise<LanguageModel> {
  const purpose = `for models of ${chosen.provider}`;
  switch (chosen.provider) {
    case 'anthropic': {
      const load = () => import('@ai-sdk/anthropic');
      const { createAnthropic } = await optionalPackage('@ai-sdk/anthropic', purpose, load);
      return createAnthropic({ apiKey: chosen.key })(chosen.name);
    }
    case 'openai': {
      const load = () => import('@ai-sdk/openai');
      const { createOpenAI } = await optionalPackage('@ai-sdk/openai', purpose, load);
      return createOpenAI({ apiKey: chosen.key })(chosen.name);
    }
    case 'google': {
      const load = () => import('@ai-sdk/google');
      const { createGoogleGenerativeAI } = await optionalPackage('@ai-sdk/google', purpose, load);
      return createGoogleGenerativeAI({ apiKey: chosen.key })(chosen.name);
    }
    case 'openai-compatible': {
      const load = () => import('@ai-sdk/openai-compatible');
      const { createOpenAICompatible } = await optionalPackage('@ai-sdk/openai-compatible', purpose, load);
      const provider = createOpenAICompatible({
        ...{ name: 'openai-compatible', baseURL: chosen.baseUrl, includeUsage: true },
        ...(chosen.key === undefined ? {} : { apiKey: chosen.key }),
      });
      return provider(chosen.name);
    }
  }
}
