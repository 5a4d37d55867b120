/** Whether the log is as it was written. */

import { SandboxError } from '../../errors.ts';
import { AuditTrail, type Verdict, verifyExported } from '../../operations/auditTrail.ts';
import { forTerminal } from '../terminal.ts';
import { jsonFile, textFile } from './files.ts';

export interface VerifyFlags {
  readonly head?: string;
  readonly publicKey?: string;
  readonly config?: string;
  readonly json?: boolean;
}

/** Prints what is wrong and where; resolves to the exit status. */
export async function verify(file: string | undefined, flags: VerifyFlags): Promise<number> {
  const [verdict, where] = await judge(file, flags);
  const { records, flaws, first, last, bytes } = verdict;
  const sound = flaws.length === 0 && records > 0;
  if (flags.json) {
    process.stdout.write(
      `${JSON.stringify({ ok: sound, records, first: first ?? null, last: last ?? null, bytes, flaws, folder: where })}\n`,
    );
    return sound ? 0 : 1;
  }
  for (const { file: name, line, message, kind } of flaws) {
    const place = name === '' ? '' : `${name}:${line}: `;
    process.stdout.write(`${kind}: ${forTerminal(`${place}${message}`)}\n`);
  }
  process.stdout.write(`${forTerminal(conclusion(verdict, where))}\n`);
  return sound ? 0 : 1;
}

async function judge(file: string | undefined, flags: VerifyFlags): Promise<[Verdict, string]> {
  const { head, publicKey, config } = flags;
  if ((head === undefined) !== (publicKey === undefined) || (file !== undefined && head !== undefined)) {
    throw new SandboxError('INPUT_INVALID', '--head and --public-key belong together, and go with the log.', {
      hint: 'For example: glovebox audit verify --head head.json --public-key audit.pub.pem',
    });
  }
  if (file !== undefined) {
    await textFile(file);
    return [await verifyExported(file), file];
  }
  const trail = await AuditTrail.open(
    config === undefined ? {} : { configFile: config, overrideKind: 'flag' },
  );
  const signed =
    head === undefined || publicKey === undefined
      ? undefined
      : { envelope: await jsonFile(head), publicKey: await textFile(publicKey) };
  return [await trail.verify(signed), trail.folder];
}

function conclusion({ records, first, last, flaws }: Verdict, where: string): string {
  if (flaws.length > 0) return `${records} records in ${where} are whole; ${flaws.length} things are wrong.`;
  if (records === 0) return `There are no records in ${where}.`;
  return `${records} records in ${where}, ${first} to ${last?.seq}, are as they were written. The last one is ${last?.hash}.`;
}
