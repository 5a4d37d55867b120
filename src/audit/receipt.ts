/** What is known of one execution, from its records: enough to check it elsewhere, without the log. */
import type { KeyObject } from 'node:crypto';
import { SandboxError } from '../errors.ts';
import { type Envelope, seal, unseal } from './envelope.ts';
import { openLine, type Place, type ReadRecord } from './log/line.ts';
import type { LoggedRecord } from './log/readLog.ts';

const RECEIPT_TYPE = 'application/vnd.glovebox.receipt+json';

/** One execution, as its records say. */
export interface Receipt {
  readonly execution_id: string;
  /** When it was asked for, ISO 8601. */
  readonly requested_at: string;
  readonly ended_at: string | null;
  readonly surface: unknown;
  readonly operation: unknown;
  readonly language: unknown;
  /** SHA-256 and size of the very bytes that were run. */
  readonly code: unknown;
  readonly parameters: unknown;
  readonly findings: readonly unknown[];
  readonly decision: unknown;
  readonly approval: readonly unknown[];
  readonly policy: unknown;
  readonly runtime: unknown;
  readonly network: readonly unknown[];
  /** Of a dry run: what its commit would write, by its hash. */
  readonly effects: unknown;
  /** Outcome, what was enforced, image or root, hashes of output and files; null when it has not ended. */
  readonly result: unknown;
}

/** A receipt with the records that it was made of, each as its line in the log, and where the log ended then. */
export interface Statement {
  readonly receipt: Receipt;
  readonly records: readonly string[];
  readonly log: Place;
  readonly issued_at: string;
}

/** Throws `INPUT_INVALID` where there is no such execution among the records. */
export function makeStatement(id: string, records: readonly LoggedRecord[], log: Place): Statement {
  return {
    receipt: receiptOf(
      id,
      records.map(({ record }) => record),
    ),
    records: records.map(({ line }) => line),
    log: { seq: log.seq, hash: log.hash },
    issued_at: new Date().toISOString(),
  };
}

export function signStatement(statement: Statement, key: KeyObject): Envelope {
  return seal(RECEIPT_TYPE, statement, key);
}

/** Throws `INPUT_INVALID` when it was not signed by this key, or says what its own records do not. */
export function openStatement(envelope: unknown, key: KeyObject): Statement {
  const statement = unseal(envelope, RECEIPT_TYPE, key) as Statement;
  const records = (Array.isArray(statement.records) ? statement.records : []).map((line) => {
    const record = typeof line === 'string' ? openLine(Buffer.from(line)) : undefined;
    if (record === undefined) throw unusable('a record in it was changed');
    return record;
  });
  const receipt = receiptOf(String(statement.receipt?.execution_id), records);
  if (JSON.stringify(receipt) !== JSON.stringify(statement.receipt))
    throw unusable('it says what its records do not');
  return statement;
}

function receiptOf(id: string, records: readonly ReadRecord[]): Receipt {
  const own = records.filter((record) => record['id'] === id);
  const last = (type: string) => own.findLast((record) => record.type === type);
  const [request, decision, started, effects, ended] = [
    ...['request', 'decision', 'started', 'effects', 'ended'].map(last),
  ];
  if (request === undefined) {
    throw new SandboxError('INPUT_INVALID', `There is no record of ${JSON.stringify(id.slice(0, 100))}.`, {
      hint: 'Run: glovebox audit list --type request',
    });
  }
  return {
    execution_id: id,
    requested_at: request.at,
    ended_at: ended?.at ?? null,
    ...{
      surface: request['surface'],
      operation: request['operation'],
      language: request['language'] ?? null,
    },
    ...{ code: request['code'] ?? null, parameters: request['parameters'] },
    findings: own.filter(({ type }) => type === 'finding').map(bare),
    decision: decision === undefined ? null : bare(decision),
    approval: own.filter(({ type }) => APPROVAL.includes(type)).map(bare),
    policy: started?.['policy'] ?? null,
    runtime: started?.['runtime'] ?? null,
    network: own.filter(({ type }) => type === 'network' || type === 'network_closed').map(bare),
    effects: effects === undefined ? null : bare(effects),
    result: ended === undefined ? null : bare(ended),
  };
}

const APPROVAL: readonly string[] = ['question', 'answer', 'grant_given', 'grant_used'];

/** Without what only places it in the log. */
function bare({
  seq: _seq,
  prev: _prev,
  hash: _hash,
  type: _type,
  ...told
}: ReadRecord): Record<string, unknown> {
  const { id: _id, ...rest } = told as Record<string, unknown>;
  return rest;
}

function unusable(why: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `The receipt cannot be believed: ${why}.`, {
    hint: 'Ask whoever issued it for another one.',
  });
}
