import type { GetPromptResult, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** Ways of work that a person can choose in the client. */
export function registerPrompts(server: McpServer): void {
  server.registerPrompt(
    'analyze_data',
    {
      title: 'Analyze data',
      description: 'Look at data in a sandbox, compute what is asked, and draw a chart.',
      argsSchema: z.object({
        question: z.string().describe('What you want to know'),
        data: z.string().optional().describe('The data itself as CSV or JSON, or where it is'),
      }),
    },
    ({ question, data }) =>
      asked(
        `Answer this question from data, with code: ${question}`,
        ...(data === undefined ? [] : [`The data:\n${data}`]),
        'Keep one sandbox for all steps (code_execute with sandbox_id "new", then with the id that it returns). Write the data to a file first. Look at its first rows, its types and what is missing before you compute. Draw one chart that answers the question. Say in the end what you found, with the numbers, and what the data cannot tell.',
      ),
  );
  server.registerPrompt(
    'fix_failing_test',
    {
      title: 'Fix a failing test',
      description: 'Repeat a failing test in a sandbox, find the cause, and try the repair there.',
      argsSchema: z.object({
        failure: z.string().describe('The test and what it says'),
        code: z.string().optional().describe('The code that is tested'),
      }),
    },
    ({ failure, code }) =>
      asked(
        `Repair what makes this test fail:\n${failure}`,
        ...(code === undefined ? [] : [`The code:\n${code}`]),
        'Write the code and the test into one sandbox (code_write_file, then its sandbox_id). See the test fail there first; without that you know nothing. Find the cause, change the code and not the test, and run the test again. Show the change, and the output that proves it.',
      ),
  );
}

function asked(...paragraphs: readonly string[]): GetPromptResult {
  return { messages: [{ role: 'user', content: { type: 'text', text: paragraphs.join('\n\n') } }] };
}
