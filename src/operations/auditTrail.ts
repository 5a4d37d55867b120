/** Looking at what was recorded. */
import { realpathSync } from 'node:fs';
import { dirname, sep } from 'node:path';
import { type Envelope, privateKeyFrom, publicKeyFrom } from '../audit/envelope.ts';
import { openHead, signHead } from '../audit/heads.ts';
import { type LoggedRecord, matcher, type ReadOptions, readLog } from '../audit/log/readLog.ts';
import { type Flaw, type Verdict, verifyExport, verifyLog } from '../audit/log/verify.ts';
import { makeStatement, openStatement, type Statement, signStatement } from '../audit/receipt.ts';
import { type LoadOptions, loadSettings } from '../config/index.ts';
import { SandboxError } from '../errors.ts';
import { auditFolder } from './oversight/open.ts';

export type { Envelope } from '../audit/envelope.ts';
export type { LoggedRecord, RecordFilter } from '../audit/log/readLog.ts';
export type { Flaw, Verdict } from '../audit/log/verify.ts';
export type { Receipt, Statement } from '../audit/receipt.ts';

/** A statement of where a log ended, and the public key that it was signed with. */
export interface SignedHead {
  readonly envelope: unknown;
  readonly publicKey: string;
}

/** The audit log that the settings name. */
export class AuditTrail {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Throws `CONFIG_INVALID`. */
  static async open(options: LoadOptions = {}): Promise<AuditTrail> {
    const { settings } = await loadSettings(options);
    return new AuditTrail(auditFolder(settings, options));
  }

  records(options?: ReadOptions): AsyncGenerator<LoggedRecord> {
    return readLog(this.folder, options);
  }

  /** Checks each record and the chain; with a head, also that the log still holds what it held then. */
  async verify(head?: SignedHead): Promise<Verdict> {
    const verdict = await verifyLog(this.folder);
    if (head === undefined) return verdict;
    const flaw = await this.#compare(openHead(head.envelope, publicKeyFrom(head.publicKey)), verdict);
    return flaw === undefined ? verdict : { ...verdict, flaws: [...verdict.flaws, flaw] };
  }

  /** Signs where the log ends. Throws `AUDIT_UNAVAILABLE` where it is not whole, or empty. */
  async signHead(privateKey: string): Promise<Envelope> {
    const key = privateKeyFrom(privateKey);
    return signHead(await this.#soundHead(), key);
  }

  /** What is known of one execution, by its id; signed where a key is given. Throws `INPUT_INVALID` for another id. */
  async receipt(id: string, privateKey?: string): Promise<Statement | Envelope> {
    const key = privateKey === undefined ? undefined : privateKeyFrom(privateKey);
    const head = await this.#soundHead();
    const isOwn = matcher({ id });
    const records: LoggedRecord[] = [];
    for await (const logged of this.records()) {
      if (isOwn(logged.record)) records.push(logged);
    }
    const statement = makeStatement(id, records, head);
    return key === undefined ? statement : signStatement(statement, key);
  }

  /** Refuses a private key that lies where the log does: whoever can change the one could then sign the other. */
  assertOutside(keyFile: string): void {
    const folder = realpathOf(this.folder);
    const key = realpathOf(dirname(keyFile));
    if (key !== folder && !key.startsWith(folder + sep)) return;
    throw new SandboxError('INPUT_INVALID', `The key ${keyFile} lies in the folder of the audit log.`, {
      hint: 'Keep it where whoever writes the log cannot read it.',
    });
  }

  async #soundHead(): Promise<{ readonly seq: number; readonly hash: string }> {
    const { flaws, last } = await verifyLog(this.folder);
    const [flaw] = flaws;
    if (flaw !== undefined) throw unsound(flaw.message);
    if (last === undefined) throw unsound('There are no records.');
    return last;
  }

  async #compare(
    head: { readonly seq: number; readonly hash: string },
    { last, first }: Verdict,
  ): Promise<Flaw | undefined> {
    const { seq, hash } = head;
    const flaw = (message: string): Flaw => ({ kind: 'replaced', file: '', line: 0, seq, message });
    if (last === undefined || last.seq < seq)
      return flaw(`Record ${seq}, which was signed, is not there any more.`);
    for await (const { record } of this.records()) {
      // Older files may have been moved away, as long as the record behind the signed one is there and says so.
      if (first !== undefined && seq < first) {
        const isNext = record.seq === seq + 1 && record.prev === hash;
        return isNext ? undefined : flaw(`Nothing that is there follows record ${seq}, which was signed.`);
      }
      if (record.seq !== seq) continue;
      return record.hash === hash ? undefined : flaw(`Record ${seq} is another one than was signed.`);
    }
    return flaw(`Record ${seq}, which was signed, is not there any more.`);
  }
}

/** Checks a receipt without the log. Throws `INPUT_INVALID` when it is not what that key signed. */
export function checkReceipt(envelope: unknown, publicKey: string): Statement {
  return openStatement(envelope, publicKeyFrom(publicKey));
}

/** Checks records that were exported to a file. */
export function verifyExported(path: string): Promise<Verdict> {
  return verifyExport(path);
}

function realpathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It is not there yet.
    return path;
  }
}

function unsound(why: string): SandboxError {
  return new SandboxError('AUDIT_UNAVAILABLE', `The audit log cannot be vouched for. ${why}`, {
    hint: 'Run: glovebox audit verify',
  });
}
