import { type Command, Option } from 'commander';
import { ISOLATION_LEVELS } from '../../policy/isolation.ts';
import { CONFIG } from '../options.ts';

/** Adds what `glovebox run-many` takes. */
export function addRunManyCommand(runMany: Command): void {
  runMany
    .argument(
      '<programs>',
      'a folder, a file with one JSON object a line, or - for such lines on standard input',
    )
    .option('--output <file>', 'write the results there (default: standard output)')
    .option('--resume', 'go on with the results in that file, and run only what has none')
    .option('--concurrency <n>', 'how many run at a time (default: as many as there are processors)')
    .option('--runtime <name>', 'local, bubblewrap, docker or gvisor (SANDBOX_TYPE)')
    .option('--timeout <seconds>', 'limit of each by the wall clock (SANDBOX_TIMEOUT_SEC)')
    .option('--memory-mb <n>', 'memory limit of each (SANDBOX_MEMORY_MB)')
    .option('--max-output-kb <n>', 'how much of each stream is kept (SANDBOX_MAX_OUTPUT_KB)')
    .addOption(
      new Option('--min-isolation <level>', 'refuse anything weaker (default: namespace)').choices([
        ...ISOLATION_LEVELS,
      ]),
    )
    .option(...CONFIG)
    .option('--json', 'with --output: print how it went as one JSON object')
    .addHelpText(
      'after',
      `
Of a folder, every file counts whose ending is that of a language, below it too; its path there is its id. A line is
an object with code, code_base64 or path, and with id, language, args, env, stdin, files and timeout as wanted:
  {"id":"first","code":"print(input())","stdin":"42","timeout":5}
  {"id":"second","path":"second.js","args":["a"],"files":{"in.txt":{"content":"x"}}}
A result is a line of JSON: id, sha256 of the program, and what 'glovebox run --json' prints, or error.

Exit status: 0 all ran, however they ended; 1 some could not be run; 125 Glovebox failed; 130 cancelled.

Examples:
  glovebox run-many candidates/ > results.jsonl
  glovebox run-many programs.jsonl --output results.jsonl --timeout 5 --concurrency 8
  glovebox run-many programs.jsonl --output results.jsonl --timeout 5 --concurrency 8 --resume
  generate-programs | glovebox run-many - --runtime gvisor > results.jsonl`,
    )
    .action(async (programs, options) => {
      const { runMany: run } = await import('./runMany.ts');
      process.exitCode = await run(programs, options);
    });
}
