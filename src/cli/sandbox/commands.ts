import { type Command, Option } from 'commander';
import { ISOLATION_LEVELS } from '../../policy/isolation.ts';
import { CONFIG, each, JSON_FLAG } from '../options.ts';
import { withQuestions } from './withQuestions.ts';

/** The commands below `glovebox sandbox`; each loads what it does when it is called. */
export function addSandboxCommands(sandbox: Command): void {
  sandbox
    .command('create')
    .description('make a sandbox that lives on, and print its id')
    .option('--runtime <name>', 'local, bubblewrap, docker or gvisor (SANDBOX_TYPE)')
    .option('-l, --language <language>', 'the language of exec where it names none (default: python)')
    .option('--id <id>', 'what it shall be called')
    .option('--timeout <seconds>', 'limit of an execution that names none (SANDBOX_TIMEOUT_SEC)')
    .option('--memory-mb <n>', 'memory limit (SANDBOX_MEMORY_MB)')
    .option('--disk-mb <n>', 'limit for all that is written (default: 1024)')
    .option('--cpu <cores>', 'share of the processor (default: 0.5)')
    .option('--lifetime <seconds>', 'when it ends in any case (SANDBOX_LIFETIME_SEC)')
    .option('--idle-timeout <seconds>', 'how long it may be of no use (SANDBOX_IDLE_TIMEOUT_SEC)')
    .addOption(new Option('--min-isolation <level>', 'refuse anything weaker').choices([...ISOLATION_LEVELS]))
    .addOption(
      new Option('--network [mode]', 'reach the domains of the settings; open: all of them').choices([
        'none',
        'open',
      ]),
    )
    .option('--allow-domain <domain>', 'reach only this host; again for more', each)
    .option(...CONFIG)
    .option(...JSON_FLAG)
    .addHelpText(
      'after',
      `
The first one starts a background process, which ends when the last sandbox is gone. Settings are those of this call.

Examples:
  glovebox sandbox create
  glovebox sandbox create --id work --lifetime 7200 --memory-mb 1024
  id=$(glovebox sandbox create --runtime gvisor --allow-domain example.org)`,
    )
    .action(async (options) => {
      const { create } = await import('./create.ts');
      process.exitCode = await withQuestions(() => create(options));
    });

  sandbox
    .command('exec')
    .description('run a program in a sandbox')
    .argument('<id>', 'the sandbox')
    .argument('[file]', 'the program; - reads it from standard input')
    .argument('[args...]', 'its arguments, after --')
    .option('-c, --code <code>', 'run this code instead of a file')
    .option(
      '-l, --language <language>',
      "python, javascript or shell (default: by the file's ending, else the sandbox's)",
    )
    .option('--command', 'run the command after -- instead of code')
    .option(
      '--stdin <text|@file>',
      'what the program reads (default: our own standard input, unless a terminal)',
    )
    .option('--timeout <seconds>', 'limit by the wall clock')
    .option('--memory-mb <n>', "memory limit, below the sandbox's")
    .option('--max-output-kb <n>', 'how much of each stream is kept')
    .option('--env <name=value>', 'a variable for the program; again for more', each)
    .option('--dry-run', 'run in a copy of the workspace, and tell what it did there')
    .option('--json', 'print one JSON result instead of the output')
    .addHelpText(
      'after',
      `
Exit status: as of glovebox run. Ctrl-C cancels the execution, and the sandbox lives on.

Examples:
  glovebox sandbox exec ID -c "open('a.txt', 'w').write('text')"
  glovebox sandbox exec ID program.py -- --verbose
  glovebox sandbox exec ID --command -- pytest -q
  glovebox sandbox exec ID --dry-run tidy.py`,
    )
    .action(async (id, file, args, options) => {
      const { exec } = await import('./exec.ts');
      process.exitCode = await withQuestions(() => exec(id, file, args, options));
    });

  sandbox
    .command('commit')
    .description('apply what a dry run wrote: exactly those bytes, or nothing when the workspace has changed')
    .argument('<id>', 'the sandbox')
    .argument('<dry-run>', 'what exec --dry-run has printed')
    .option(...JSON_FLAG)
    .addHelpText('after', '\nExample:\n  glovebox sandbox commit ID d035a889-90ee-4385-b4e0-3ef089c8065b')
    .action(async (id, dryRun, options) => {
      const { commit } = await import('./dryRuns.ts');
      process.exitCode = await withQuestions(() => commit(id, dryRun, options));
    });

  sandbox
    .command('discard')
    .description('forget a dry run')
    .argument('<id>', 'the sandbox')
    .argument('<dry-run>', 'what exec --dry-run has printed')
    .option(...JSON_FLAG)
    .addHelpText('after', '\nExample:\n  glovebox sandbox discard ID d035a889-90ee-4385-b4e0-3ef089c8065b')
    .action(async (id, dryRun, options) => {
      const { discard } = await import('./dryRuns.ts');
      process.exitCode = await discard(id, dryRun, options);
    });

  sandbox
    .command('write')
    .description('write a file of a sandbox')
    .argument('<id>', 'the sandbox')
    .argument('<path>', 'the file, below /workspace')
    .argument('[file]', 'what is in it; standard input without one, and with -')
    .option('--text <text>', 'this text instead of a file')
    .option(...JSON_FLAG)
    .addHelpText(
      'after',
      `
Examples:
  glovebox sandbox write ID data.csv sales.csv
  glovebox sandbox write ID config.json --text '{}'
  curl … | glovebox sandbox write ID page.html`,
    )
    .action(async (id, path, file, options) => {
      const { write } = await import('./files.ts');
      process.exitCode = await withQuestions(() => write(id, path, file, options));
    });

  sandbox
    .command('read')
    .description('print a file of a sandbox, byte for byte')
    .argument('<id>', 'the sandbox')
    .argument('<path>', 'the file, below /workspace')
    .option('-o, --out <file>', 'write it to a file instead')
    .option(...JSON_FLAG)
    .addHelpText(
      'after',
      '\nExamples:\n  glovebox sandbox read ID result.txt\n  glovebox sandbox read ID chart.png -o chart.png',
    )
    .action(async (id, path, options) => {
      const { read } = await import('./files.ts');
      process.exitCode = await withQuestions(() => read(id, path, options));
    });

  sandbox
    .command('ls')
    .description('list a folder of a sandbox')
    .argument('<id>', 'the sandbox')
    .argument('[path]', 'the folder (default: /workspace)')
    .option(...JSON_FLAG)
    .addHelpText(
      'after',
      '\nSize, time of the last change (UTC) and name; / marks a folder, @ a link.\n\nExamples:\n  glovebox sandbox ls ID\n  glovebox sandbox ls ID data --json',
    )
    .action(async (id, path, options) => {
      const { listFiles } = await import('./files.ts');
      process.exitCode = await withQuestions(() => listFiles(id, path, options));
    });

  sandbox
    .command('rm-file')
    .description('remove a file or a folder of a sandbox')
    .argument('<id>', 'the sandbox')
    .argument('<path>', 'the file, below /workspace')
    .option('-r, --recursive', 'a folder with all that is in it')
    .option(...JSON_FLAG)
    .addHelpText(
      'after',
      '\nExamples:\n  glovebox sandbox rm-file ID data.csv\n  glovebox sandbox rm-file ID data -r',
    )
    .action(async (id, path, options) => {
      const { removeFile } = await import('./files.ts');
      process.exitCode = await withQuestions(() => removeFile(id, path, options));
    });

  sandbox
    .command('install')
    .description('install a package in a sandbox, from its registry and nowhere else')
    .argument('<id>', 'the sandbox')
    .argument('<package>', 'its name, and perhaps a version: requests==2.31.0, lodash@4')
    .option('--registry <name>', "pypi or npm (default: that of the sandbox's language)")
    .option('--timeout <seconds>', 'limit by the wall clock (default: 120)')
    .option('--allow-scripts', 'let code of packages run while they are installed')
    .option(...JSON_FLAG)
    .addHelpText(
      'after',
      `
What the package manager prints goes to standard error.

Examples:
  glovebox sandbox install ID requests==2.31.0
  glovebox sandbox install ID is-number --registry npm`,
    )
    .action(async (id, name, options) => {
      const { install } = await import('./install.ts');
      process.exitCode = await withQuestions(() => install(id, name, options));
    });

  sandbox
    .command('upload')
    .description("carry a file, or a folder's content, into a sandbox")
    .argument('<id>', 'the sandbox')
    .argument('<host-path>', 'the file or the folder of this host')
    .argument('[path]', 'the folder in the sandbox, or the name of the file there (default: /workspace)')
    .option('--exclude <name>', 'leave out what is called so; again for more', each)
    .option(...JSON_FLAG)
    .addHelpText(
      'after',
      '\nLinks and special files are left out.\n\nExamples:\n  glovebox sandbox upload ID . --exclude node_modules --exclude .git\n  glovebox sandbox upload ID data data',
    )
    .action(async (id, hostPath, path, options) => {
      const { upload } = await import('./files.ts');
      process.exitCode = await withQuestions(() => upload(id, hostPath, path, options));
    });

  sandbox
    .command('download')
    .description("carry a file, or a folder's content, out of a sandbox")
    .argument('<id>', 'the sandbox')
    .argument('<path>', 'the file or the folder in the sandbox')
    .argument('<host-folder>', 'the folder of this host')
    .option('--overwrite', 'replace files that are there')
    .option(...JSON_FLAG)
    .addHelpText(
      'after',
      '\nOnly files and folders are made, and nothing outside the folder.\n\nExamples:\n  glovebox sandbox download ID . results\n  glovebox sandbox download ID dist dist --overwrite',
    )
    .action(async (id, path, hostFolder, options) => {
      const { download } = await import('./files.ts');
      process.exitCode = await withQuestions(() => download(id, path, hostFolder, options));
    });

  sandbox
    .command('rm')
    .description('end sandboxes and remove every trace of them')
    .argument('[ids...]', 'the sandboxes')
    .option('--all', 'all of them')
    .option(...JSON_FLAG)
    .addHelpText('after', '\nExamples:\n  glovebox sandbox rm ID\n  glovebox sandbox rm --all')
    .action(async (ids, options) => {
      const { remove } = await import('./overview.ts');
      process.exitCode = await remove(ids, options);
    });

  sandbox
    .command('list')
    .description('list the sandboxes that live')
    .option(...JSON_FLAG)
    .addHelpText('after', '\nExamples:\n  glovebox sandbox list\n  glovebox sandbox list --json')
    .action(async (options) => {
      const { list } = await import('./overview.ts');
      process.exitCode = await list(options);
    });
}
