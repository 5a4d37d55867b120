/** The keys that servers of this user take. */
import { SandboxError } from '../../errors.ts';
import { isLive, type Key, type Quotas, type Scope } from '../../keys/key.ts';
import { keyToJson } from '../../keys/keyJson.ts';
import { Keyring, type KeyWithSecret, keysFolder } from '../../keys/keyring.ts';
import { forTerminal } from '../terminal.ts';

interface Flags {
  readonly json?: boolean;
}

export interface CreateFlags extends Flags {
  readonly name: string;
  readonly scope?: readonly string[];
  readonly expiresInDays?: string;
  readonly maxSandboxes?: string;
  readonly executionsPerMinute?: string;
  readonly cpuSecondsPerHour?: string;
  readonly mbPerHour?: string;
}

const DAY_SEC = 24 * 3600;
const HOUR_SEC = 3600;
const DEFAULT_OVERLAP_HOURS = 24;
const BYTES_PER_MB = 1024 * 1024;

/** Makes a key and prints its secret; resolves to the exit status. */
export async function create(flags: CreateFlags): Promise<number> {
  const days = numberFrom('--expires-in-days', flags.expiresInDays);
  const made = await openKeyring().create({
    name: flags.name,
    // What is none is refused there.
    scopes: (flags.scope ?? ['execute']) as Scope[],
    quotas: quotasFrom(flags),
    ...(days === undefined ? {} : { expiresInSec: days * DAY_SEC }),
  });
  return tellSecret(made, flags);
}

/** Prints all keys; resolves to the exit status. */
export async function list({ json }: Flags): Promise<number> {
  const keys = openKeyring().list();
  if (json) {
    process.stdout.write(`${JSON.stringify({ keys: keys.map(keyToJson) })}\n`);
    return 0;
  }
  if (keys.length === 0) process.stdout.write('There are no keys. Make one: glovebox keys create\n');
  for (const key of keys) process.stdout.write(`${forTerminal(lineOf(key, Date.now()))}\n`);
  return 0;
}

/** Takes keys back; resolves to the exit status. */
export async function revoke(ids: readonly string[], { json }: Flags): Promise<number> {
  const keyring = openKeyring();
  const revoked: Key[] = [];
  for (const id of ids) revoked.push(await keyring.revoke(id));
  if (json) process.stdout.write(`${JSON.stringify({ keys: revoked.map(keyToJson) })}\n`);
  else process.stdout.write(revoked.map((key) => `Revoked ${nameOf(key)}.\n`).join(''));
  return 0;
}

/** Gives a key a new secret and prints it; resolves to the exit status. */
export async function rotate(id: string, flags: Flags & { readonly overlapHours?: string }): Promise<number> {
  const hours = numberFrom('--overlap-hours', flags.overlapHours) ?? DEFAULT_OVERLAP_HOURS;
  const made = await openKeyring().rotate(id, { overlapSec: hours * HOUR_SEC });
  const status = tellSecret(made, flags);
  if (!flags.json) process.stderr.write(`glovebox: ${endOfTheOther(hours)}\n`);
  return status;
}

function endOfTheOther(hours: number): string {
  if (hours === 0) return 'The secret before it holds no more.';
  return `The secret before it holds for ${hours} more hour${hours === 1 ? '' : 's'}.`;
}

function openKeyring(): Keyring {
  return new Keyring({ folder: keysFolder() });
}

function quotasFrom(flags: CreateFlags): Quotas {
  const mb = numberFrom('--mb-per-hour', flags.mbPerHour);
  return {
    maxSandboxes: numberFrom('--max-sandboxes', flags.maxSandboxes),
    executionsPerMinute: numberFrom('--executions-per-minute', flags.executionsPerMinute),
    cpuSecondsPerHour: numberFrom('--cpu-seconds-per-hour', flags.cpuSecondsPerHour),
    bytesPerHour: mb === undefined ? undefined : mb * BYTES_PER_MB,
  };
}

function numberFrom(flag: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw new SandboxError('INPUT_INVALID', `${flag} is ${JSON.stringify(given.slice(0, 100))}.`, {
    hint: 'Give a whole number in plain digits.',
  });
}

/** The secret alone on standard output, so that a script can take it from there. */
function tellSecret({ key, secret }: KeyWithSecret, { json }: Flags): number {
  if (json) {
    process.stdout.write(`${JSON.stringify({ key: keyToJson(key), secret })}\n`);
    return 0;
  }
  process.stdout.write(`${secret}\n`);
  process.stderr.write(
    `glovebox: This is the secret of ${nameOf(key)}. It is not shown again: keep it where only its user can read it.\n`,
  );
  return 0;
}

function nameOf({ id, name }: Key): string {
  return `the key ${id} (${forTerminal(name)})`;
}

/** One key on one line. Pure. */
export function lineOf(key: Key, now: number): string {
  const { id, scopes, name, quotas } = key;
  const limits = [
    ...(quotas.maxSandboxes === undefined ? [] : [`${quotas.maxSandboxes} sandboxes`]),
    ...(quotas.executionsPerMinute === undefined ? [] : [`${quotas.executionsPerMinute} executions/min`]),
    ...(quotas.cpuSecondsPerHour === undefined ? [] : [`${quotas.cpuSecondsPerHour} CPU s/h`]),
    ...(quotas.bytesPerHour === undefined ? [] : [`${quotas.bytesPerHour / BYTES_PER_MB} MB/h`]),
  ];
  return [id, stateOf(key, now), scopes.join(','), name, limits.join(', ')]
    .filter((part) => part !== '')
    .join('  ');
}

function stateOf(key: Key, now: number): string {
  if (key.revokedAt !== undefined) return `revoked ${key.revokedAt.slice(0, 10)}`;
  if (key.expiresAt === undefined) return 'holds';
  return `${isLive(key, now) ? 'holds until' : 'expired'} ${key.expiresAt.slice(0, 10)}`;
}
