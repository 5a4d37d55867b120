import type { Command } from 'commander';
import { each, JSON_FLAG } from '../options.ts';

/** The commands below `glovebox keys`; each loads what it does when it is called. */
export function addKeysCommands(keys: Command): void {
  keys
    .command('create')
    .description('make a key and print its secret, this one time')
    .option('--name <name>', 'what you know it by', 'unnamed')
    .option('--scope <scope>', 'execute, approve, audit or metrics; again for more (default: execute)', each)
    .option('--expires-in-days <n>', 'when it ends by itself (default: never)')
    .option('--max-sandboxes <n>', 'how many sandboxes it may have at once')
    .option('--executions-per-minute <n>', 'how often it may run something')
    .option('--cpu-seconds-per-hour <n>', 'how much CPU time its programs may take')
    .option('--mb-per-hour <n>', 'how much it may carry in files and output')
    .option(...JSON_FLAG)
    .addHelpText(
      'after',
      `
The secret goes to standard output, and only a hash of it is kept. What is not limited here is not limited by the key.

Examples:
  glovebox keys create --name ci
  glovebox keys create --name reviewer --scope approve --scope audit --expires-in-days 30
  glovebox keys create --name agent --max-sandboxes 4 --executions-per-minute 60 --cpu-seconds-per-hour 600
  KEY=$(glovebox keys create --name agent)`,
    )
    .action(async (options) => {
      const { create } = await import('./keys.ts');
      process.exitCode = await create(options);
    });

  keys
    .command('list')
    .description('print all keys, without their secrets')
    .option(...JSON_FLAG)
    .addHelpText('after', '\nExamples:\n  glovebox keys list\n  glovebox keys list --json')
    .action(async (options) => {
      const { list } = await import('./keys.ts');
      process.exitCode = await list(options);
    });

  keys
    .command('revoke')
    .description('take keys back; servers that run refuse them from the next request on')
    .argument('<ids...>', 'the keys')
    .option(...JSON_FLAG)
    .addHelpText('after', '\nExample:\n  glovebox keys revoke 5f0c9f3d2b7a1e48')
    .action(async (ids, options) => {
      const { revoke } = await import('./keys.ts');
      process.exitCode = await revoke(ids, options);
    });

  keys
    .command('rotate')
    .description('give a key a new secret and print it, this one time')
    .argument('<id>', 'the key')
    .option('--overlap-hours <n>', 'how long the secret that it had goes on (default: 24; 0 for not at all)')
    .option(...JSON_FLAG)
    .addHelpText(
      'after',
      '\nExamples:\n  glovebox keys rotate 5f0c9f3d2b7a1e48\n  glovebox keys rotate 5f0c9f3d2b7a1e48 --overlap-hours 0',
    )
    .action(async (id, options) => {
      const { rotate } = await import('./keys.ts');
      process.exitCode = await rotate(id, options);
    });
}
