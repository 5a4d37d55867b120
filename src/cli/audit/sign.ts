/** Keys, signed heads and receipts. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { SandboxError } from '../../errors.ts';
import { AuditTrail, checkReceipt, type Receipt, type Statement } from '../../operations/auditTrail.ts';
import { forTerminal } from '../terminal.ts';
import { warn } from '../warn.ts';
import { give, jsonFile, textFile } from './files.ts';

export interface SignFlags {
  readonly key: string;
  readonly out?: string;
  readonly config?: string;
}

export interface ReceiptFlags extends Partial<SignFlags> {
  readonly check?: boolean;
  readonly publicKey?: string;
  readonly code?: string;
  readonly json?: boolean;
}

/** Signs where the log ends; resolves to the exit status. */
export async function sign({ key, out, config }: SignFlags): Promise<number> {
  const trail = await openTrail(config);
  trail.assertOutside(key);
  await give(asJson(await trail.signHead(await textFile(key))), out);
  return 0;
}

/** Makes a receipt, or checks one; resolves to the exit status. */
export async function receipt(id: string, flags: ReceiptFlags): Promise<number> {
  if (flags.check) return check(id, flags);
  if (flags.publicKey !== undefined || flags.code !== undefined) {
    throw new SandboxError('INPUT_INVALID', '--public-key and --code belong to --check.', {
      hint: 'For example: glovebox audit receipt --check receipt.json --public-key audit.pub.pem',
    });
  }
  const { key, out, config } = flags;
  const trail = await openTrail(config);
  if (key === undefined) {
    warn('The receipt is not signed: nobody else can check it. Sign it with --key.');
    await give(asJson(await trail.receipt(id)), out);
    return 0;
  }
  trail.assertOutside(key);
  await give(asJson(await trail.receipt(id, await textFile(key))), out);
  return 0;
}

/** Makes a pair of keys; resolves to the exit status. */
export async function keygen(file: string): Promise<number> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const publicFile = `${file.replace(/\.pem$/, '')}.pub.pem`;
  await give(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), file, 0o600);
  await give(publicKey.export({ type: 'spki', format: 'pem' }).toString(), publicFile);
  process.stdout.write(`${forTerminal(`The private key is in ${file}, the public key in ${publicFile}.`)}\n`);
  return 0;
}

async function check(file: string, { publicKey, code, json }: ReceiptFlags): Promise<number> {
  if (publicKey === undefined) {
    throw new SandboxError(
      'INPUT_INVALID',
      'A receipt is checked with the public key of whoever signed it.',
      {
        hint: 'For example: glovebox audit receipt --check receipt.json --public-key audit.pub.pem',
      },
    );
  }
  const statement = checkReceipt(await jsonFile(file), await textFile(publicKey));
  if (code !== undefined) await assertCode(code, statement.receipt);
  process.stdout.write(json ? asJson(statement.receipt) : told(statement));
  return 0;
}

async function assertCode(path: string, { code }: Receipt): Promise<void> {
  await textFile(path);
  const sha256 = createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
  const was = (code as { readonly sha256?: string } | null)?.sha256;
  if (was === sha256) return;
  throw new SandboxError('INPUT_INVALID', `The file ${path} is not the code that was run.`, {
    hint: `Its SHA-256 is ${sha256}; that of the code was ${was ?? 'not recorded'}.`,
  });
}

function told({ receipt, issued_at: issuedAt, log }: Statement): string {
  const { execution_id: id, runtime, requested_at: requestedAt } = receipt;
  const result = receipt.result as { outcome?: unknown; exit_code?: unknown } | null;
  const end = result === null ? 'had not ended' : `ended: ${result.outcome} with ${result.exit_code}`;
  return [
    `The receipt is what was signed on ${issuedAt}, when the log ended with record ${log.seq}.`,
    `Execution ${id}, asked for on ${requestedAt}, in ${runtime}, ${end}.`,
    'All of it: --json',
  ]
    .map((line) => `${forTerminal(line)}\n`)
    .join('');
}

function openTrail(config: string | undefined): Promise<AuditTrail> {
  return AuditTrail.open(config === undefined ? {} : { configFile: config, overrideKind: 'flag' });
}

function asJson(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
