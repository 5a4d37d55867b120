import { listTrusted, removeTrust, type TrustedFile } from '../config/trustedFiles.ts';
import { SandboxError } from '../errors.ts';
import { trustProjectFile } from '../operations/trust/trustProjectFile.ts';
import { cancellable } from './cancel.ts';
import { forTerminal } from './terminal.ts';
import { warn } from './warn.ts';

export interface TrustFlags {
  readonly list?: boolean;
  readonly remove?: boolean;
  readonly json?: boolean;
}

/** The exit status when the person who was asked did not say yes. */
const DENIED = 126;

/** Trusts a project file when a person says so, or lists or takes away what is trusted; resolves to the exit status. */
export async function trustConfig(file: string | undefined, flags: TrustFlags): Promise<number> {
  const { list = false, remove = false, json = false } = flags;
  if (list && (remove || file !== undefined)) throw unusable('--list stands alone');
  if (json && !list) throw unusable('--json belongs to --list');
  if (list) return listAll(json);
  return remove ? takeAway(file) : cancellable((signal) => ask(file, signal));
}

async function ask(file: string | undefined, signal: AbortSignal): Promise<number> {
  const { path, sha256, outcome } = await trustProjectFile(file, { signal });
  process.stdout.write(`${SAID[outcome]}: ${forTerminal(path)} (SHA-256 ${sha256})\n`);
  return outcome === 'not trusted' ? DENIED : 0;
}

const SAID = {
  trusted: 'Trusted',
  'trusted already': 'Trusted already',
  'not trusted': 'Not trusted',
} as const;

async function takeAway(file: string | undefined): Promise<number> {
  const { path, wasPinned } = await removeTrust(file);
  process.stdout.write(`${wasPinned ? 'No longer trusted' : 'Was not trusted'}: ${forTerminal(path)}\n`);
  return 0;
}

async function listAll(json: boolean): Promise<number> {
  const { files, unusable: reasons } = await listTrusted();
  if (json) {
    const trusted = files.map(({ path, sha256, trustedAt, now }) => ({
      path,
      sha256,
      trusted_at: trustedAt,
      now,
    }));
    process.stdout.write(`${JSON.stringify({ trusted, warnings: reasons }, null, 2)}\n`);
    return 0;
  }
  for (const trusted of files) process.stdout.write(lineOf(trusted));
  for (const reason of reasons) warn(reason);
  return 0;
}

function lineOf({ path, sha256, trustedAt, now }: TrustedFile): string {
  return `${now.padEnd('unreadable'.length)}  ${trustedAt}  ${sha256}  ${forTerminal(path)}\n`;
}

function unusable(message: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `${message}.`, {
    hint: 'Run: glovebox config trust [file], glovebox config trust --remove [file], or glovebox config trust --list [--json]',
  });
}
