import type { Command } from 'commander';
import { CONFIG, JSON_FLAG } from '../options.ts';

/** The commands below `glovebox approvals`; each loads what it does when it is called. */
export function addApprovalsCommands(approvals: Command): void {
  approvals
    .command('list', { isDefault: true })
    .description('print the questions that wait for an answer')
    .option(...JSON_FLAG)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  glovebox approvals list')
    .action(async (options) => {
      const { list } = await import('./approvals.ts');
      process.exitCode = await list(options);
    });

  approvals
    .command('show')
    .description('print a question whole: the code, what it seems to do, and what it would be held to')
    .argument('<id>', 'the question')
    .option(...JSON_FLAG)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  glovebox approvals show 5f0c9f3d2b7a1e48')
    .action(async (id, options) => {
      const { show } = await import('./approvals.ts');
      process.exitCode = await show(id, options);
    });

  approvals
    .command('answer')
    .description('show a question on this terminal and answer it')
    .argument('[id]', 'the question (default: the one that waits longest)')
    .option(...CONFIG)
    .addHelpText(
      'after',
      `
It reads the answer from the terminal itself: nothing that is piped in can answer.

Example:
  glovebox approvals answer 5f0c9f3d2b7a1e48`,
    )
    .action(async (id, options) => {
      const { answer } = await import('./approvals.ts');
      process.exitCode = await answer(id, options);
    });

  approvals
    .command('grants')
    .description('print what was granted for more than one time')
    .option(...JSON_FLAG)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  glovebox approvals grants')
    .action(async (options) => {
      const { grants } = await import('./approvals.ts');
      process.exitCode = await grants(options);
    });

  approvals
    .command('revoke')
    .description('take grants back')
    .argument('[ids...]', 'the grants')
    .option('--all', 'all of them')
    .option(...JSON_FLAG)
    .option(...CONFIG)
    .addHelpText(
      'after',
      '\nExamples:\n  glovebox approvals revoke 5f0c9f3d2b7a1e48\n  glovebox approvals revoke --all',
    )
    .action(async (ids, options) => {
      const { revoke } = await import('./approvals.ts');
      process.exitCode = await revoke(ids, options);
    });
}
