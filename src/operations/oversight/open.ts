import { join } from 'node:path';
import type { Recorder } from '../../audit/events.ts';
import type { Repair } from '../../audit/log/auditLog.ts';
import { type LoadedSettings, type LoadOptions, stateFolder } from '../../config/index.ts';
import { SandboxError } from '../../errors.ts';
import type { Gate } from '../../gate/approval/gate.ts';
import type { Approver } from '../../gate/approval/question.ts';
import type { Surface } from '../surface.ts';
import type { Oversight } from './oversight.ts';

/** Where the user's own folders are found. */
type Surroundings = Pick<LoadOptions, 'env' | 'homeDir'>;

/** What a caller brings along. */
export interface OversightWish {
  readonly surface: Surface;
  /** Decides instead of the one that the settings ask for. */
  readonly gate?: Gate;
  /** Ways to a person besides `glovebox approvals`, where the settings ask for a gate. */
  readonly approvers?: readonly Approver[];
  /** For whom is asked at the moment, where a process asks for others; see `WaitingRoomOptions`. */
  readonly caller?: () => string | undefined;
  /** Who asks at the moment, by a name that is recorded and shown, where more than one can. */
  readonly askedBy?: () => string | undefined;
  /** Seconds that a caller waits for a person; see `DecideOptions`. */
  readonly patienceSec?: number;
}

/** What the settings ask for; undefined where nothing is recorded and nobody is asked. */
export async function openOversight(
  loaded: Pick<LoadedSettings, 'settings' | 'origins'>,
  wish: OversightWish,
  surroundings: Surroundings,
): Promise<Oversight | undefined> {
  const { settings, origins } = loaded;
  const { audit, gate: preset = 'off' } = settings;
  const isRecorded = audit === 'on' || (audit === 'auto' && origins.auditDir.kind !== 'default');
  const isGated = wish.gate !== undefined || preset !== 'off';
  // Most runs are neither, and a short-lived command should not load what would.
  if (!isRecorded && !isGated) return undefined;
  const { Oversight } = await import('./oversight.ts');
  const notes: string[] = [];
  const onNote = (note: string): void => void notes.push(note);
  const recorder = isRecorded ? await openRecorder(settings, surroundings, onNote) : undefined;
  const gate = wish.gate ?? (isGated ? await openGate(settings, wish, surroundings, onNote) : undefined);
  return new Oversight({
    ...{ surface: wish.surface, notes },
    ...(recorder === undefined ? {} : { recorder }),
    ...(gate === undefined ? {} : { gate }),
    ...(wish.askedBy === undefined ? {} : { askedBy: wish.askedBy }),
    ...(wish.patienceSec === undefined ? {} : { patienceSec: wish.patienceSec }),
  });
}

async function openRecorder(
  settings: LoadedSettings['settings'],
  surroundings: Surroundings,
  onNote: (note: string) => void,
): Promise<Recorder> {
  const { AuditLog } = await import('../../audit/log/auditLog.ts');
  return new AuditLog({
    folder: auditFolder(settings, surroundings),
    fsync: settings.auditFsync,
    maxFileBytes: settings.auditMaxFileMb * 1024 * 1024,
    onRepair: (repair) => onNote(repairNote(repair)),
  });
}

async function openGate(
  settings: LoadedSettings['settings'],
  { approvers = [], askedBy, caller = askedBy }: OversightWish,
  surroundings: Surroundings,
  onNote: (note: string) => void,
): Promise<Gate> {
  const [{ Gate }, { Grants }, { rulesFrom }] = await Promise.all([
    import('../../gate/approval/gate.ts'),
    import('../../gate/approval/grants.ts'),
    import('./rules.ts'),
  ]);
  const rules = rulesFrom(settings);
  const folders = approvalFolders(surroundings);
  // Without a home there is no place for what others could answer.
  if (folders === undefined) return new Gate({ rules, approvers });
  const [{ WaitingRoom }, { GrantStore }] = await Promise.all([
    import('../../gate/approval/waiting.ts'),
    import('../../gate/approval/grantStore.ts'),
  ]);
  const room = new WaitingRoom({
    ...{ folder: folders.waiting, onWarning: onNote },
    ...(caller === undefined ? {} : { caller }),
  });
  const keeper = new GrantStore({ folder: folders.grants, onWarning: onNote });
  return new Gate({ rules, approvers: [...approvers, room], grants: new Grants({ keeper }) });
}

/** Where questions wait, and where grants are kept; undefined where the user has no home. */
export function approvalFolders(surroundings: Surroundings): { waiting: string; grants: string } | undefined {
  const state = stateFolder(surroundings);
  return state === undefined
    ? undefined
    : { waiting: join(state, 'approvals'), grants: join(state, 'grants') };
}

/** Where the log is. Throws `AUDIT_UNAVAILABLE` where nobody has named a folder and the user has no home. */
export function auditFolder(
  { auditDir }: Pick<LoadedSettings['settings'], 'auditDir'>,
  surroundings: Surroundings,
): string {
  const state = stateFolder(surroundings);
  if (auditDir !== undefined) return auditDir;
  if (state !== undefined) return join(state, 'audit');
  throw new SandboxError(
    'AUDIT_UNAVAILABLE',
    'There is no folder for the audit log: this user has no home.',
    {
      hint: 'Name a folder in SANDBOX_AUDIT_DIR.',
    },
  );
}

function repairNote({ cut_bytes: bytes, missing, changed, unnoted }: Repair): string {
  const cut = bytes === 0 ? '' : ` ${bytes} bytes of a record that was not written to its end were cut off.`;
  const lost =
    missing === undefined ? '' : ` ${recordsFrom(missing.after + 1, missing.noted.seq)} not there any more.`;
  const other = changed === undefined ? '' : ` Record ${changed.noted.seq} is another one than was written.`;
  const unknown =
    unnoted === undefined ? '' : ` Whether anything stood behind record ${unnoted.after} is not known.`;
  return `The end of the audit log was repaired.${cut}${lost}${other}${unknown} See: glovebox audit verify`;
}

function recordsFrom(first: number, last: number): string {
  return first === last ? `Record ${first} is` : `Records ${first} to ${last} are`;
}
