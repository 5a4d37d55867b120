import { Argument, type Command, Option } from 'commander';
import { GATES } from '../../config/index.ts';
import { SandboxError } from '../../errors.ts';
import { ASSISTANTS } from '../../mcp/assistants/assistants.ts';
import { ISOLATION_LEVELS } from '../../policy/isolation.ts';
import { CONFIG, each } from '../options.ts';

/** `glovebox mcp`, and what makes the settings for it. */
export function addMcpCommands(mcp: Command): void {
  mcp
    .option('--http', 'speak HTTP instead of standard input and output')
    .option('--host <host>', 'with --http: where to listen', '127.0.0.1')
    .option('--port <n>', 'with --http: 0 takes any that is free', '7718')
    .option(
      '--token-file <file>',
      'with --http: holds the token that clients send (GLOVEBOX_MCP_TOKEN; a new one is printed otherwise)',
    )
    .option('--allow-host <name>', 'with --http: another name of this server; again for more', each)
    .option('--allow-origin <origin>', 'with --http: pages that may ask; again for more', each)
    .option('--max-sessions <n>', 'with --http: how many clients at a time', '32')
    .option('--idle-timeout <seconds>', 'with --http: when a session ends that nobody uses', '1800')
    .option('--runtime <name>', 'local, bubblewrap, docker or gvisor (SANDBOX_TYPE)')
    .option('--timeout <seconds>', 'the most that a call may take (SANDBOX_TIMEOUT_SEC)')
    .option('--memory-mb <n>', 'memory limit (SANDBOX_MEMORY_MB)')
    .option('--max-output-kb <n>', 'how much of each stream is kept (SANDBOX_MAX_OUTPUT_KB)')
    .addOption(new Option('--min-isolation <level>', 'refuse anything weaker').choices([...ISOLATION_LEVELS]))
    .addOption(new Option('--gate <mode>', 'what a person is asked about (SANDBOX_GATE)').choices([...GATES]))
    .option(
      '--patience <seconds>',
      'how long a call waits for a person; clients give up on one after a minute',
      '40',
    )
    .option(...CONFIG)
    .addHelpText(
      'after',
      `
An assistant starts it by itself, with the settings that 'glovebox mcp config' prints.

Examples:
  glovebox mcp config claude
  glovebox mcp install cursor --write
  glovebox mcp --http --port 7718 --token-file ~/.glovebox-token`,
    )
    .action(async (options) => {
      const { serve } = await import('./serve.ts');
      // A question that is still open would keep us here until its time is over; it counts for nothing without us.
      process.exit(await serve(options));
    });
  mcp
    .command('config')
    .alias('install')
    .description('print the settings with which an assistant uses it, or put them into its file')
    .addArgument(new Argument('<assistant>', 'for whom').choices([...ASSISTANTS]))
    .argument('[flags...]', 'flags of the server, after --')
    .option('--write', 'put them into the file of the assistant, and keep all else in it')
    .addHelpText(
      'after',
      '\nExamples:\n  glovebox mcp config vscode\n  glovebox mcp install cursor --write\n  glovebox mcp config codex -- --runtime docker',
    )
    .action(async (assistant, flags, options) => {
      refuseFlagsBefore(mcp);
      const { assistantSettings } = await import('./settings.ts');
      assistantSettings(assistant, flags, options);
    });
}

/** They would be the server's own, and stand in no settings. */
function refuseFlagsBefore(mcp: Command): void {
  const given = mcp.options.find((option) => mcp.getOptionValueSource(option.attributeName()) === 'cli');
  if (given === undefined) return;
  throw new SandboxError('INPUT_INVALID', `${given.long} stands before "config", where it is lost.`, {
    hint: `Put what the server is started with behind --: glovebox mcp config ASSISTANT -- ${given.flags}`,
  });
}
