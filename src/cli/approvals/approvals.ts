/** Questions that wait for a person, and what people have granted. */
import { SandboxError } from '../../errors.ts';
import {
  type Answer,
  Approvals,
  type Grant,
  type Question,
  questionToJson,
  showQuestion,
} from '../../operations/approvals.ts';
import { terminalApprover } from '../../operations/terminalApprover.ts';
import { cancellable } from '../cancel.ts';
import { forTerminal } from '../terminal.ts';
import { warn } from '../warn.ts';

interface Flags {
  readonly json?: boolean;
  readonly config?: string;
}

/** Prints what waits, the oldest first; resolves to the exit status. */
export async function list(flags: Flags): Promise<number> {
  const waiting = (await openApprovals(flags)).waiting();
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ questions: waiting.map(inShort) })}\n`);
    return 0;
  }
  if (waiting.length === 0) process.stdout.write('Nothing waits for an answer.\n');
  for (const question of waiting) process.stdout.write(`${forTerminal(lineOf(question))}\n`);
  return 0;
}

/** Prints one question whole; resolves to the exit status. */
export async function show(id: string, flags: Flags): Promise<number> {
  const question = (await openApprovals(flags)).read(id);
  const width = process.stdout.columns ?? 80;
  const text = flags.json
    ? questionToJson(question)
    : showQuestion(question, { width, colours: process.stdout.isTTY === true }).join('\n');
  process.stdout.write(`${text}\n`);
  return 0;
}

/** Asks on the terminal; resolves to the exit status: 0 when it was answered, whatever the answer. */
export async function answer(id: string | undefined, flags: Flags): Promise<number> {
  const approvals = await openApprovals(flags);
  const question = id === undefined ? oldest(approvals) : approvals.read(id);
  return cancellable(async (signal) => {
    const time = Math.max(0, Date.parse(question.expiresAt) - Date.now());
    const until = AbortSignal.any([signal, AbortSignal.timeout(time)]);
    const said = await terminalApprover(() => {}).ask(question, until);
    approvals.answer(question, said);
    process.stdout.write(`${sentenceOn(said, Date.parse(question.expiresAt) - Date.now())}\n`);
    return 0;
  });
}

/** Whoever asks may look for an answer only once a second, and takes none when the time is up. */
const NOTICED_MS = 1000;

/** What was answered, with that time left. Pure. */
export function sentenceOn({ approved }: Answer, leftMs: number): string {
  if (!approved) return 'Denied.';
  return leftMs < NOTICED_MS
    ? 'Approved, but so late that it may not have counted: see what came of it.'
    : 'Approved.';
}

/** Prints what was granted; resolves to the exit status. */
export async function grants(flags: Flags): Promise<number> {
  const given = await (await openApprovals(flags)).grants();
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ grants: given.map(grantToJson) })}\n`);
    return 0;
  }
  if (given.length === 0) process.stdout.write('Nothing is granted.\n');
  for (const grant of given) process.stdout.write(`${forTerminal(grantLine(grant))}\n`);
  return 0;
}

/** Takes grants back; resolves to the exit status. */
export async function revoke(
  ids: readonly string[],
  flags: Flags & { readonly all?: boolean },
): Promise<number> {
  if ((flags.all === true) === ids.length > 0) {
    throw new SandboxError('INPUT_INVALID', 'Say which grants to take back: their ids, or --all.', {
      hint: 'Run: glovebox approvals grants',
    });
  }
  const approvals = await openApprovals(flags);
  const revoked = flags.all ? (await approvals.grants()).map(({ id }) => id) : ids;
  if (flags.all) await approvals.revokeAll();
  else for (const id of ids) await approvals.revoke(id);
  if (flags.json) process.stdout.write(`${JSON.stringify({ revoked })}\n`);
  return 0;
}

function openApprovals({ config }: Flags): Promise<Approvals> {
  return Approvals.open(config === undefined ? {} : { configFile: config, overrideKind: 'flag' }, warn);
}

function oldest(approvals: Approvals): Question {
  const [question] = approvals.waiting();
  if (question !== undefined) return question;
  throw new SandboxError('INPUT_INVALID', 'Nothing waits for an answer.', {
    hint: 'See what waits: glovebox approvals',
  });
}

function inShort({ id, operation, runtime, sandboxId, hash, risk, askedAt, expiresAt }: Question) {
  return {
    ...{ id, operation, runtime, sandbox_id: sandboxId, proposal_hash: hash, risk: risk.level },
    ...{ asked_at: askedAt, expires_at: expiresAt },
  };
}

function lineOf({ id, risk, operation, runtime, sandboxId, expiresAt }: Question): string {
  const left = Math.max(0, Math.round((Date.parse(expiresAt) - Date.now()) / 1000));
  const where = sandboxId === null ? runtime : `${runtime}, sandbox ${sandboxId}`;
  return `${id}  ${risk.level.padEnd(8)}  ${operation} in ${where}: ${risk.description} (${left} s left)`;
}

function grantLine({ id, scope, operation, sandboxId, usesLeft, expiresAt, givenBy }: Grant): string {
  const what = scope === 'exact' ? `exactly that ${operation}` : `${operation} in sandbox ${sandboxId}`;
  const uses = usesLeft === null ? '' : `, ${usesLeft} more times`;
  return `${id}  ${what}${uses}, until ${expiresAt} (given by ${givenBy})`;
}

function grantToJson(grant: Grant) {
  const { id, scope, operation, runtime, sandboxId, level, givenBy, givenAt, expiresAt, usesLeft } = grant;
  return {
    ...{ id, scope, operation, runtime, sandbox_id: sandboxId, level, given_by: givenBy },
    ...{ given_at: givenAt, expires_at: expiresAt, uses_left: usesLeft },
  };
}
