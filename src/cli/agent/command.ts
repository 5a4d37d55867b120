import { type Command, Option } from 'commander';
import { ISOLATION_LEVELS } from '../../policy/isolation.ts';
import { CONFIG } from '../options.ts';

/** Adds what `glovebox agent` takes. */
export function addAgentCommand(agent: Command): void {
  agent
    .argument('[task]', 'what is to be done')
    .option(
      '--model <provider/name>',
      'anthropic/…, openai/…, google/… or openai-compatible/… (default: by the key that is set)',
    )
    .option('--base-url <url>', 'the address of an OpenAI-compatible server, such as Ollama')
    .option(
      '--key-variable <name>',
      'the variable that holds the key of that server (default: no key is sent)',
    )
    .option('--max-steps <n>', 'how often the model is asked at most (default: 20)')
    .option('--max-tokens <n>', 'stop once so many tokens were used')
    .option('--max-cost-usd <amount>', 'stop once so much was spent; needs both prices')
    .option('--price-in <amount>', 'US dollars for a million tokens that the model reads')
    .option('--price-out <amount>', 'US dollars for a million tokens that the model writes')
    .option('--memory <file>', 'what it keeps (default: agent_memory.json)')
    .option('--resume', 'go on with what is in the memory')
    .option(
      '--tools <folder>',
      'make a tool of each documented function there; they run OUTSIDE of any sandbox',
    )
    .option('--mcp <file>', 'use the tools of these MCP servers; they run OUTSIDE of any sandbox')
    .option('--runtime <name>', 'local, bubblewrap, docker or gvisor (SANDBOX_TYPE)')
    .addOption(new Option('--min-isolation <level>', 'refuse anything weaker').choices([...ISOLATION_LEVELS]))
    .option(...CONFIG)
    .option('--json', 'print one line of JSON for each thing that happens')
    .addHelpText(
      'after',
      `
The answer goes to standard output, the steps to standard error. Keys come from ANTHROPIC_API_KEY, OPENAI_API_KEY or
GOOGLE_GENERATIVE_AI_API_KEY.
Exit status: 0 answered; 124 a limit ended it before; 125 Glovebox or the model failed; 130 cancelled.

Examples:
  glovebox agent "Generate and run Python code that computes 2 + 2"
  glovebox agent "Which primes are below 100?" --model openai-compatible/NAME --base-url http://127.0.0.1:11434/v1
  glovebox agent --resume "And below 200?" --max-steps 5`,
    )
    .action(async (task, flags) => {
      const { runAgentCommand } = await import('./agent.ts');
      process.exitCode = await runAgentCommand(task, flags);
    });
}
