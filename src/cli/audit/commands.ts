import type { Command } from 'commander';
import { CONFIG, each, JSON_FLAG } from '../options.ts';

/** The commands below `glovebox audit`; each loads what it does when it is called. */
export function addAuditCommands(audit: Command): void {
  audit
    .command('list')
    .description('print records, one a line, the oldest first')
    .option(
      '--type <type>',
      'only these: request, finding, decision, started, ended, effects, network, …',
      each,
    )
    .option('--operation <operation>', 'only of these: execute, write_file, install_package, …', each)
    .option('--id <id>', 'only of this request or execution')
    .option('--sandbox <id>', 'only of this sandbox')
    .option('--since <time>', 'from then on: 2026-11-20, 2026-11-20T12:00:00Z, or 30m, 12h, 7d ago')
    .option('--until <time>', 'up to then')
    .option('-n, --last <n>', 'only the last ones (default: 100; 0 for all)')
    .option('-f, --follow', 'go on with what is recorded from now on')
    .option(...CONFIG)
    .option('--json', 'print the records as they stand in the log')
    .addHelpText(
      'after',
      `
Examples:
  glovebox audit list
  glovebox audit list --type network --since 1h
  glovebox audit list --operation execute --type ended --json
  glovebox audit list --follow`,
    )
    .action(async (options) => {
      const { list } = await import('./list.ts');
      process.exitCode = await list(options);
    });

  audit
    .command('show')
    .description('print all that is recorded of one request, execution or sandbox')
    .argument('<id>', "the number of a record, or a request's, an execution's or a sandbox's id")
    .option(...CONFIG)
    .option('--json', 'print the records as they stand in the log')
    .addHelpText(
      'after',
      '\nExamples:\n  glovebox audit show 17\n  glovebox audit show d035a889-90ee-4385-b4e0-3ef089c8065b',
    )
    .action(async (id, options) => {
      const { show } = await import('./list.ts');
      process.exitCode = await show(id, options);
    });

  audit
    .command('verify')
    .description('find records that were changed, removed, put in, moved or cut off')
    .argument('[file]', 'records that were exported, instead of the log')
    .option('--head <file>', 'also compare with what audit sign has signed')
    .option('--public-key <file>', 'the key that --head was signed with, in PEM')
    .option(...CONFIG)
    .option(...JSON_FLAG)
    .addHelpText(
      'after',
      `
Exit status: 0 when nothing is wrong, 1 when something is or when there are no records.
Without --head, whoever can write the whole folder can also write another log in its place.

Examples:
  glovebox audit verify
  glovebox audit verify --head head.json --public-key audit.pub.pem
  glovebox audit verify records.jsonl`,
    )
    .action(async (file, options) => {
      const { verify } = await import('./verify.ts');
      process.exitCode = await verify(file, options);
    });

  audit
    .command('export')
    .description('print the whole log, or a part of it, as lines of JSON')
    .option('--since <time>', 'from then on, as in list')
    .option('--until <time>', 'up to then')
    .option('--out <file>', 'write to this new file instead of standard output')
    .option(...CONFIG)
    .addHelpText(
      'after',
      '\nExamples:\n  glovebox audit export --out records.jsonl\n  glovebox audit export --since 7d | gzip > week.jsonl.gz',
    )
    .action(async (options) => {
      const { exportRecords } = await import('./list.ts');
      process.exitCode = await exportRecords(options);
    });

  audit
    .command('sign')
    .description('verify the log and sign where it ends, to keep elsewhere')
    .requiredOption('--key <file>', 'the private key, in PEM; not in the folder of the log')
    .option('--out <file>', 'write to this new file instead of standard output')
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  glovebox audit sign --key audit.pem --out head.json')
    .action(async (options) => {
      const { sign } = await import('./sign.ts');
      process.exitCode = await sign(options);
    });

  audit
    .command('receipt')
    .description('print what is known of one execution, or check such a receipt without the log')
    .argument('<id>', "the execution's id, or with --check the receipt's file")
    .option('--key <file>', 'sign it with this private key, in PEM')
    .option('--out <file>', 'write to this new file instead of standard output')
    .option('--check', 'check a signed receipt')
    .option('--public-key <file>', 'the key that it was signed with, in PEM')
    .option('--code <file>', 'with --check: also that this is the code that was run')
    .option(...CONFIG)
    .option(...JSON_FLAG)
    .addHelpText(
      'after',
      `
Examples:
  glovebox audit receipt d035a889-90ee-4385-b4e0-3ef089c8065b --key audit.pem --out receipt.json
  glovebox audit receipt --check receipt.json --public-key audit.pub.pem --code main.py`,
    )
    .action(async (id, options) => {
      const { receipt } = await import('./sign.ts');
      process.exitCode = await receipt(id, options);
    });

  audit
    .command('keygen')
    .description('make a pair of keys: FILE with the private one, and FILE without .pem + .pub.pem')
    .argument('<file>', 'a new file, such as audit.pem')
    .addHelpText('after', '\nExample:\n  glovebox audit keygen audit.pem')
    .action(async (file) => {
      const { keygen } = await import('./sign.ts');
      process.exitCode = await keygen(file);
    });
}
