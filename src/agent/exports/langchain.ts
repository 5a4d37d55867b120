import type { StructuredToolInterface } from '@langchain/core/tools';
import type { ToolAnswer } from '../../operations/tools/tool.ts';
import type { AgentTool } from '../agentTool.ts';
import { optionalPackage } from '../model/optionalPackage.ts';
import { openTools, type Tools, type ToolsOptions } from './toolset.ts';

/** The tools for LangChain.js: the content of a message is the text for a model, its artifact the whole answer. */
export function langchainTools(
  options: ToolsOptions = {},
): Promise<Tools<StructuredToolInterface[], ToolAnswer>> {
  return openTools(options, structuredTools, (answer) => answer);
}

async function structuredTools(tools: readonly AgentTool[]): Promise<StructuredToolInterface[]> {
  const load = () => import('@langchain/core/tools');
  const { tool } = await optionalPackage('@langchain/core', 'for tools of LangChain.js', load);
  return tools.map(({ name, description, parameters, call }) =>
    tool(
      async (input: unknown, { signal }: { signal?: AbortSignal }) => {
        const answer = await call(input, signal === undefined ? {} : { signal });
        return [answer.text, answer];
      },
      { name, description, schema: parameters, responseFormat: 'content_and_artifact' },
    ),
  );
}
