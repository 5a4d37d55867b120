// Stand-ins for models, so that the examples run without a key: each wants `print(6 * 7)` run once, and then answers.
import { MockLanguageModelV3 } from 'ai/test';

const TOOL = 'code_execute';
const INPUT = { language: 'python', code: 'print(6 * 7)' };
const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } };

/** In the place of `anthropic('claude-…')` or `openai('gpt-…')` of the AI SDK. */
export const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => ({ ...turn(prompt), usage, warnings: [] }),
});

/** In the place of `new OpenAI()`. */
export const openai = {
  responses: {
    async create({ input }) {
      const answered = input.find(({ type }) => type === 'function_call_output');
      if (answered !== undefined) return { output: [], output_text: `It is ${firstLine(answered.output)}.` };
      const call = { type: 'function_call', call_id: 'c1', name: TOOL, arguments: JSON.stringify(INPUT) };
      return { output: [call], output_text: '' };
    },
  },
};

/** In the place of `new Anthropic()`. */
export const anthropic = {
  messages: {
    async create({ messages }) {
      const [result] = messages.at(-1).content;
      if (result.type === 'tool_result')
        return { content: [{ type: 'text', text: `It is ${firstLine(result.content[0].text)}.` }] };
      return { content: [{ type: 'tool_use', id: 't1', name: TOOL, input: INPUT }] };
    },
  },
};

function turn(prompt) {
  const last = prompt.at(-1);
  if (last.role !== 'tool') {
    const call = { type: 'tool-call', toolCallId: 'c1', toolName: TOOL, input: JSON.stringify(INPUT) };
    return { content: [call], finishReason: { unified: 'tool-calls', raw: undefined } };
  }
  const text = `It is ${firstLine(last.content[0].output.value)}.`;
  return { content: [{ type: 'text', text }], finishReason: { unified: 'stop', raw: undefined } };
}

function firstLine(text) {
  return text.split('\n')[0];
}
