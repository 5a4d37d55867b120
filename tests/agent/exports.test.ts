/** The tools in the forms of others' frameworks, each called as its framework does. */

import { ToolMessage } from '@langchain/core/messages';
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  aiSdkTools,
  anthropicTools,
  langchainTools,
  openaiChatTools,
  openaiTools,
} from '../../src/agent/index.ts';
import { Gate } from '../../src/gate/approval/gate.ts';
import { presetRules } from '../../src/gate/rules.ts';
import { TOOL_NAMES } from '../../src/operations/tools/tool.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { useHome } from './support/home.ts';

const home = useHome();
beforeEach(() => {
  for (const [name, value] of Object.entries(home.env)) vi.stubEnv(name, value);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const options = () => ({ runtime: 'bubblewrap', cwd: home.folder });
const CODE = { language: 'python', code: 'print(6 * 7)' };

/** A chart as a program draws one, without a package for it: one pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const DRAWS = {
  sandbox_id: 'new',
  code: `class Chart:\n    def _repr_png_(self):\n        return "${PIXEL}"\nChart()`,
};

/** Whether a validator of JSON Schema takes it. */
function isSchema(schema: object): boolean {
  try {
    new AjvJsonSchemaValidator().getValidator(schema);
    return true;
  } catch {
    return false;
  }
}

describeWith(['bubblewrap'], 'the tools for others', () => {
  it('are functions for OpenAI, in both of its forms', async () => {
    await using responses = await openaiTools(options());
    await using chat = await openaiChatTools(options());
    expect(responses.tools.map(({ name }) => name)).toEqual([...TOOL_NAMES]);
    for (const [i, tool] of responses.tools.entries()) {
      const { name, description, parameters } = tool;
      expect(tool).toEqual({ type: 'function', name, description, parameters, strict: false });
      expect(chat.tools[i]).toEqual({ type: 'function', function: { name, description, parameters } });
      expect({ name, is: isSchema(parameters) }).toEqual({ name, is: true });
      expect(parameters).toMatchObject({ type: 'object', additionalProperties: false });
    }
    expect(isSchema({ type: 'nonsense' })).toBe(false);
    expect(await responses.handleToolCall('code_execute', JSON.stringify(CODE))).toMatch(/^42$/m);
    expect(await chat.handleToolCall('code_execute', CODE)).toMatch(/^42$/m);
    expect(await chat.handleToolCall('code_execute', '{"code"')).toMatch(/^Error/);
    expect(await chat.handleToolCall('no_such', {})).toMatch(
      /^Error \(INPUT_INVALID\): There is no tool "no_such"/,
    );
  });

  it('are tools for Anthropic, with charts as images', async () => {
    await using anthropic = await anthropicTools(options());
    for (const tool of anthropic.tools) {
      const { name, description, input_schema } = tool;
      expect(tool).toEqual({ name, description, input_schema });
      expect({ name, is: isSchema(input_schema) }).toEqual({ name, is: true });
    }
    expect(await anthropic.handleToolCall('code_execute', DRAWS)).toEqual([
      { type: 'text', text: expect.stringContaining('(1 picture)') },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
    ]);
  });

  it('are tools for the AI SDK, which calls them itself and shows a model text and charts', async () => {
    await using sdk = await aiSdkTools(options());
    const finish = (unified: 'stop' | 'tool-calls') => ({
      ...{ finishReason: { unified, raw: undefined }, warnings: [] },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never,
    });
    const input = JSON.stringify(DRAWS);
    const model = new MockLanguageModelV3({
      doGenerate: [
        {
          content: [{ type: 'tool-call', toolCallId: '1', toolName: 'code_execute', input }],
          ...finish('tool-calls'),
        },
        {
          content: [{ type: 'tool-call', toolCallId: '2', toolName: 'code_read_file', input: '{}' }],
          ...finish('tool-calls'),
        },
        { content: [{ type: 'text', text: 'Drawn.' }], ...finish('stop') },
      ],
    });
    const { text } = await generateText({
      model,
      tools: sdk.tools,
      stopWhen: stepCountIs(5),
      prompt: 'Draw',
    });
    expect(text).toBe('Drawn.');
    expect(model.doGenerateCalls.slice(1).map(({ prompt }) => prompt.at(-1))).toMatchObject([
      {
        role: 'tool',
        content: [
          {
            output: {
              type: 'content',
              value: [{ type: 'text' }, { type: 'image-data', mediaType: 'image/png', data: PIXEL }],
            },
          },
        ],
      },
      { content: [{ output: { type: 'error-text', value: expect.stringContaining('INPUT_INVALID') } }] },
    ]);
  });

  it('are tools for LangChain.js, with the whole answer beside the text', async () => {
    await using langchain = await langchainTools(options());
    expect(langchain.tools.map((tool) => convertToOpenAITool(tool).function.name)).toEqual([...TOOL_NAMES]);
    const [execute] = langchain.tools;
    const message = await execute?.invoke({ type: 'tool_call', id: 'c1', name: 'code_execute', args: CODE });
    expect(message).toBeInstanceOf(ToolMessage);
    expect(message).toMatchObject({
      ...{ tool_call_id: 'c1', content: expect.stringMatching(/^42$/m) },
      artifact: { isError: false, structured: { stdout: '42\n' } },
    });
  });

  it('ask the gate that they were given, and end their sandboxes when they are closed', async () => {
    const gate = new Gate({
      rules: presetRules('strict'),
      approvers: [{ name: 'no', ask: async () => ({ approved: false }) }],
    });
    await using denied = await openaiTools({ ...options(), gate });
    expect(await denied.handleToolCall('code_execute', CODE)).toMatch(/^Error/);
    const open = await openaiTools(options());
    const written = await open.handleToolCall('code_write_file', { path: 'a.txt', content: 'a' });
    const sandbox_id = /sandbox_id: ([\w-]+)/.exec(written)?.[1];
    expect(await open.handleToolCall('code_read_file', { path: 'a.txt', sandbox_id })).toContain('a');
    await open.close();
    await open.close();
    expect(await open.handleToolCall('code_read_file', { path: 'a.txt', sandbox_id })).toMatch(
      /^Error \(SANDBOX_/,
    );
  });
});
