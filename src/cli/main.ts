#!/usr/bin/env node
import { Command, CommanderError, Option } from 'commander';
import { ISOLATION_LEVELS } from '../policy/isolation.ts';
import { packageVersion } from '../version.ts';
import { cannotWrite, FAILED, NO_READER, printError } from './failure.ts';
import { CONFIG, each, JSON_FLAG } from './options.ts';

async function buildProgram(argv: readonly string[]): Promise<Command> {
  const program = new Command('glovebox')
    .description('Runs code in a sealed case and says honestly what happened.')
    .version(packageVersion(), '-V, --version')
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .showSuggestionAfterError()
    .enablePositionalOptions();

  program
    .command('run')
    .description('run a program once in a sandbox of its own')
    .argument('[file]', 'the program; - reads it from standard input')
    .argument('[args...]', 'its arguments, after --')
    .option('-c, --code <code>', 'run this code instead of a file')
    .option(
      '-l, --language <language>',
      "python, javascript or shell (default: by the file's ending, else python)",
    )
    .option('--command', 'run the command after -- instead of code')
    .option('--file <host[:name]>', 'put a file into the workspace; again for more', each)
    .option('--out <name[:host]>', 'bring a file of the workspace back; again for more', each)
    .option(
      '--stdin <text|@file>',
      'what the program reads (default: our own standard input, unless a terminal)',
    )
    .option('--runtime <name>', 'local, bubblewrap, docker or gvisor (SANDBOX_TYPE)')
    .option('--timeout <seconds>', 'limit by the wall clock (SANDBOX_TIMEOUT_SEC)')
    .option('--memory-mb <n>', 'memory limit (SANDBOX_MEMORY_MB)')
    .option('--max-output-kb <n>', 'how much of each stream is kept (SANDBOX_MAX_OUTPUT_KB)')
    .addOption(new Option('--min-isolation <level>', 'refuse anything weaker').choices([...ISOLATION_LEVELS]))
    .option('--allow-domain <domain>', 'reach only this host; again for more', each)
    .addOption(new Option('--network <mode>', 'give it the network').choices(['none', 'open']))
    .option('--env <name=value>', 'a variable for the program; again for more', each)
    .option(...CONFIG)
    .option('--json', 'print one JSON result instead of the output')
    .addHelpText(
      'after',
      `
Exit status: the program's own; 124 timed out; 125 Glovebox failed; 126 blocked or denied; 130 cancelled; 137 killed or out of memory.

Examples:
  glovebox run hello.py
  glovebox run -c "print(1 + 1)"
  glovebox run plot.py --file data.csv --out chart.svg -- --title Sales
  glovebox run --json --timeout 5 -l javascript -c "console.log(1)"
  echo 'echo $((6 * 7))' | glovebox run -l shell -
  glovebox run --command -- ls -la`,
    )
    .action(async (file, args, options) => {
      const { run } = await import('./run.ts');
      process.exitCode = await run(file, args, options);
    });

  const runMany = program.command('run-many').description('run many programs, each in a sandbox of its own');
  if (argv[2] === 'run-many' || argv[2] === 'help')
    (await import('./runMany/command.ts')).addRunManyCommand(runMany);

  const sandbox = program
    .command('sandbox')
    .description('sandboxes that live on from one command to the next');
  // They are many, and only whoever names them needs them.
  if (argv[2] === 'sandbox' || argv[2] === 'help')
    (await import('./sandbox/commands.ts')).addSandboxCommands(sandbox);

  const agent = program.command('agent').description('let a model solve a task by running code');
  if (argv[2] === 'agent' || argv[2] === 'help') (await import('./agent/command.ts')).addAgentCommand(agent);

  const audit = program.command('audit').description('look at what was recorded, and prove it');
  if (argv[2] === 'audit' || argv[2] === 'help')
    (await import('./audit/commands.ts')).addAuditCommands(audit);

  const approvals = program
    .command('approvals')
    .description('answer what waits for a person, and take back what was granted');
  if (argv[2] === 'approvals' || argv[2] === 'help')
    (await import('./approvals/commands.ts')).addApprovalsCommands(approvals);

  const keys = program.command('keys').description('keys for those who may ask a server of yours');
  if (argv[2] === 'keys' || argv[2] === 'help') (await import('./keys/commands.ts')).addKeysCommands(keys);

  const mcp = program.command('mcp').description('give assistants the tools, by the Model Context Protocol');
  if (argv[2] === 'mcp' || argv[2] === 'help') (await import('./mcp/commands.ts')).addMcpCommands(mcp);

  program
    .command('doctor')
    .description('say what works on this machine, what it holds, and how to get the rest')
    .option(...JSON_FLAG)
    .option('--verify <runtime>', 'run the contract against this runtime, here')
    .option(...CONFIG)
    .addHelpText('after', '\nExamples:\n  glovebox doctor\n  glovebox doctor --verify bubblewrap')
    .action(async (options) => {
      const { doctor } = await import('./doctor.ts');
      process.exitCode = await doctor(options);
    });

  program
    .command('bench')
    .description('measure on this machine what a sandbox costs, beside the same program without one')
    .option('--only <name...>', 'only these rows: names, their beginnings up to a dot, or with * in them')
    .option('--pairs <n>', 'how many pairs of ours and the other one are timed (default: 100)')
    .option('--quick', '20 pairs')
    .option('--full', 'the rows too that take long or much memory')
    .option('--output <file>', 'write the JSON to this file as well')
    .option('--svg <file>', 'draw a picture of the latencies')
    .option(...JSON_FLAG)
    .addOption(
      new Option('--hold-mb <n>', 'hold so much memory meanwhile, as a large program does').hideHelp(),
    )
    .option(...CONFIG)
    .addHelpText(
      'after',
      `
Exit status: 0; 1 when a row failed; 130 cancelled. What is not there is skipped, and the reason is told.

Examples:
  glovebox bench --quick
  glovebox bench --only bubblewrap '*.python.warm' --json
  glovebox bench --full --output bench.json --svg bench.svg`,
    )
    .action(async (options) => {
      const { bench } = await import('./bench/bench.ts');
      process.exitCode = await bench(options, argv[1] ?? '');
    });

  const images = program.command('images').description('make images for the runtime docker');
  images
    .command('build')
    .description('build the image of the sandboxes: Python, Node.js, bash and the usual tools')
    .option('--base <image>', 'the image to start from (default: debian:bookworm-slim)')
    .option('--packages <names>', 'packages for Python to put in, with commas between them')
    .option('--tag <name>', 'what the image is called (default: glovebox-sandbox:latest)')
    .option('--node <file>', 'the Linux Node.js to put in (default: the one that runs this)')
    .option('--pull', 'let the engine pull the base where it does not have it')
    .option(...JSON_FLAG)
    .option(...CONFIG)
    .addHelpText(
      'after',
      `
Nothing is pulled unless --pull says so. Without a registry, images/debian-base.sh makes a base from Debian packages.

Examples:
  glovebox images build --pull
  glovebox images build --packages numpy,pandas==2.2.3,matplotlib
  glovebox images build --base my-base:latest --tag my-sandbox:latest`,
    )
    .action(async (options) => {
      const { buildImages } = await import('./images.ts');
      process.exitCode = await buildImages(options);
    });

  const config = program.command('config').description('look at the settings');
  config
    .command('explain')
    .description('print each setting, its value and where that comes from')
    .argument('[key]', 'only this setting')
    .option(...JSON_FLAG)
    .option(...CONFIG)
    .addHelpText(
      'after',
      '\nExamples:\n  glovebox config explain\n  SANDBOX_TIMEOUT_SEC=5 glovebox config explain timeout_sec',
    )
    .action(async (key, options) => {
      const { explainConfig } = await import('./explainConfig.ts');
      process.exitCode = await explainConfig(key, options);
    });

  config
    .command('trust')
    .description("look at a project's glovebox.yaml and let it count like your own settings")
    .argument('[file]', 'the glovebox.yaml; the one of this folder otherwise')
    .option('--list', 'print what is trusted, and whether it is still what was trusted')
    .option('--remove', 'trust it no more')
    .option('--json', 'with --list: print JSON')
    .addHelpText(
      'after',
      `
Shows the whole file and what it would change, and asks on the terminal; no flag answers for a person.
Exit status: 0 when it is trusted, 126 when the answer was not yes, 125 when nobody could be asked.

Examples:
  glovebox config trust
  glovebox config trust ../other/glovebox.yaml
  glovebox config trust --list
  glovebox config trust --remove`,
    )
    .action(async (file, options) => {
      const { trustConfig } = await import('./trustConfig.ts');
      process.exitCode = await trustConfig(file, options);
    });

  program
    .command('serve')
    .description('serve sandboxes over HTTP, to whoever has a key')
    .option('--host <host>', 'where to listen', '127.0.0.1')
    .option('--port <port>', 'where to listen; 0 takes any that is free', '7717')
    .option('--runtime <name>', 'local, bubblewrap, docker or gvisor (SANDBOX_TYPE)')
    .option('--public-url <url>', 'where browsers find it, behind a proxy that encrypts')
    .option('--allow-host <name>', 'a name under which it may be asked for as well; again for more', each)
    .option('--allow-origin <origin>', 'an origin whose pages may ask it as well; again for more', each)
    .option('--insecure-no-authentication', 'ask nobody for a key: whoever reaches it can run programs')
    .option('--max-executions <n>', 'how many run at a time (default: twice the number of cores)')
    .option('--max-queue <n>', 'how many wait besides (default: 256)')
    .option('--max-body-mb <n>', 'the largest request of JSON (default: 32)')
    .option('--drain-sec <seconds>', 'how long what runs may take to end when the server ends', '30')
    .option('--json-logs', 'log one JSON object on each line')
    .option(...CONFIG)
    .addHelpText(
      'after',
      '\nPrints its address on standard output once it listens.\n\nExamples:\n  glovebox serve\n  glovebox serve --port 8080 --runtime bubblewrap --json-logs',
    )
    .action(async (options) => {
      const { serve } = await import('./serve.ts');
      process.exitCode = await serve(options, process.env);
    });

  program
    .command('prune')
    .description('remove what crashed processes of ours left behind, and nothing else')
    .option(...JSON_FLAG)
    .addHelpText('after', '\nExample:\n  glovebox prune')
    .action(async (options) => {
      const { prune } = await import('./prune.ts');
      process.exitCode = await prune(options);
    });

  return program;
}

async function main(argv: string[]): Promise<void> {
  try {
    await (await buildProgram(argv)).parseAsync(argv);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return;
    process.exitCode = FAILED;
    // The help was printed instead of a command that was not named.
    if (error instanceof CommanderError && error.code === 'commander.help') return;
    printError(error, { json: ourArguments(argv).includes('--json') });
  }
}

/** Without those of the program. */
function ourArguments(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--');
  return end < 0 ? argv : argv.slice(0, end);
}

// A reader that goes away (`glovebox run … | head`) is no error of ours, and a full disk is told once.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exitCode = error.code === 'EPIPE' ? NO_READER : FAILED;
  if (error.code !== 'EPIPE') printError(cannotWrite(error), { json: false });
});
void main(process.argv);
