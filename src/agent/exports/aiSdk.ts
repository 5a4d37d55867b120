import type { ToolSet } from 'ai';
import type { ToolAnswer } from '../../operations/tools/tool.ts';
import type { AgentTool } from '../agentTool.ts';
import { loadAi } from '../model/askModel.ts';
import { modelOutput } from '../modelOutput.ts';
import { openTools, type Tools, type ToolsOptions } from './toolset.ts';

/** The tools for the AI SDK (`ai`). A model is shown the text and the charts of an answer; a program gets all of it. */
export function aiSdkTools(options: ToolsOptions = {}): Promise<Tools<ToolSet, ToolAnswer>> {
  return openTools(options, toolSet, (answer) => answer);
}

async function toolSet(tools: readonly AgentTool[]): Promise<ToolSet> {
  const { dynamicTool, jsonSchema } = await loadAi();
  return Object.fromEntries(
    tools.map(({ name, description, parameters, call }) => [
      name,
      dynamicTool({
        description,
        inputSchema: jsonSchema(parameters as Parameters<typeof jsonSchema>[0]),
        execute: (input, { abortSignal: signal }) => call(input, signal === undefined ? {} : { signal }),
        toModelOutput: ({ output }) => modelOutput(output as ToolAnswer, { seesPictures: true }),
      }),
    ]),
  );
}
