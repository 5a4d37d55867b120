import { SandboxError } from '../../../errors.ts';
import { findLanguage } from '../../../languages/index.ts';
import type { LanguageName } from '../../../languages/language.ts';
import { type Figures, KILLED, startCounting, wasOutOfMemory } from '../../host/figures.ts';
import type { Folder } from '../../host/folder.ts';
import { WRITABLE } from '../../host/furniture.ts';
import { HostGuest } from '../../host/hostGuest.ts';
import type { FoundInterpreters, HostInterpreter } from '../../host/interpreters.ts';
import { descendantsOf, firstChild, sendIfRunning, untilGone } from '../../host/namespaceInit.ts';
import { sendSignal } from '../../host/procfs.ts';
import type { ProgramGroups } from '../../host/programGroups.ts';
import { noRoom } from '../../host/room.ts';
import { ownerOtherThanUs } from '../../host/sandboxUser.ts';
import { guestEnvironment, takeInterpreter } from '../../host/stagedGuest.ts';
import { programArguments, suitsWaiting, usedTwice } from '../../host/waitingInterpreter.ts';
import { codeOf } from '../../host/waitStatus.ts';
import { WorkspaceFiles } from '../../host/workspaceFiles.ts';
import type {
  Capabilities,
  Command,
  Enforced,
  Exit,
  GuestProcess,
  SandboxSpec,
  WarmWish,
} from '../../runtime.ts';
import { readEnforced } from '../enforced.ts';
import { ForkedFiles } from './forkedFiles.ts';
import type { ForkedProgram } from './forkedProgram.ts';
import type { SendOff } from './sendOff.ts';

export interface ForkedParts {
  readonly spec: SandboxSpec;
  readonly wish: WarmWish;
  readonly capabilities: Capabilities;
  readonly interpreters: FoundInterpreters;
  readonly groups: ProgramGroups;
  readonly program: ForkedProgram;
  readonly sendOff: SendOff;
  /** The root of its file system. */
  readonly folder: Folder;
  /** The program's user on this host. */
  readonly uid: number;
  /** Told when nothing of it is left. */
  readonly released: () => void;
}

/** A sandbox of namespaces whose one program was made ready by a fork server. */
export class ForkedGuest extends HostGuest {
  readonly warmedBy = 'fork_server';
  readonly enforced: Enforced;
  override readonly sharesLoopback = true;
  readonly workspace = WRITABLE.workspace;
  readonly environment: Readonly<Record<string, string>>;
  readonly lost: Promise<string>;
  readonly #parts: ForkedParts;
  readonly #files: ForkedFiles;
  readonly #workspaceFolder: Folder;
  readonly #figures: () => Figures;
  #isTaken = false;

  constructor(parts: ForkedParts) {
    const { spec, folder, groups, uid, capabilities } = parts;
    const workspaceFolder = folder.enter('workspace');
    const user = { uid, gid: uid };
    const workspace = new WorkspaceFiles(workspaceFolder, WRITABLE.workspace, ownerOtherThanUs(user));
    const files = new ForkedFiles(spec.policy.limits.diskMb.value, workspace);
    super(files);
    this.#files = files;
    this.#parts = parts;
    this.#workspaceFolder = workspaceFolder;
    this.#figures = startCounting(groups.whole);
    this.lost = new Promise((resolve) => {
      void parts.program.status.then((status) => {
        if (status === undefined && !this.#isTaken) resolve('the process that kept its program has ended.');
      });
    });
    this.environment = guestEnvironment(parts.interpreters);
    this.enforced = readEnforced({ spec, stage: { folder, user }, groups, capabilities });
  }

  async interpreter(language: LanguageName): Promise<HostInterpreter> {
    return takeInterpreter(this.#parts.interpreters, language);
  }

  protected async start(command: Command): Promise<GuestProcess> {
    const { program, sendOff } = this.#parts;
    const args = this.#argumentsOf(command);
    const { argv, env, stdin } = command;
    // As bubblewrap sets it for whoever starts in a folder.
    sendOff({ ...{ argv, args, stdin, env: { ...env, PWD: this.workspace } }, files: this.#files.take() });
    program.hold();
    this.#isTaken = true;
    const input = stdin === 'stream' ? program.input.take() : undefined;
    const { keeper } = program;
    let ended: 'not' | 'politely' | 'for good' = 'not';
    const end = async (): Promise<Exit> => {
      const status = await program.status;
      const counted = this.#figures();
      if (status === 'not begun') throw noRoom();
      if (status === undefined) await untilGone(keeper);
      if (status === undefined && ended === 'not' && !counted.oomKills) throw keeperFailed();
      const code = status === undefined ? KILLED : codeOf(status);
      return { code, outOfMemory: ended !== 'for good' && wasOutOfMemory(code, counted), ...counted };
    };
    return {
      ...(input === undefined ? {} : { stdin: input }),
      stdout: program.stdout,
      stderr: program.stderr,
      exit: end(),
      async kill(signal) {
        if (signal === 'SIGKILL') {
          ended = 'for good';
          sendIfRunning(keeper, 'SIGKILL');
          return;
        }
        if (signal === 'SIGTERM') {
          if (ended === 'not') ended = 'politely';
          const first = firstChild(keeper.pid);
          if (first !== undefined) sendSignal(first, signal);
        } else {
          for (const process of descendantsOf(keeper.pid)) sendIfRunning(process, signal);
        }
      },
    };
  }

  protected async release(): Promise<void> {
    const { program, groups, folder, released } = this.#parts;
    this.#isTaken = true;
    try {
      sendIfRunning(program.keeper, 'SIGKILL');
      await untilGone(program.keeper, 0);
      await groups.whole?.killAll();
      await groups.remove();
    } finally {
      program.close();
      this.#workspaceFolder.close();
      folder.close();
      released();
    }
  }

  /** The program's own arguments. Throws for any command but the one that was made ready. */
  #argumentsOf(command: Command): readonly string[] {
    const { spec, wish, interpreters } = this.#parts;
    if (this.#isTaken || !suitsWaiting(command, spec)) throw usedTwice();
    const { path } = takeInterpreter(interpreters, wish.language);
    const { fileName, command: commandOf } = findLanguage(wish.language);
    return programArguments(command, { command: commandOf(path, `${WRITABLE.workspace}/${fileName}`, []) });
  }
}

function keeperFailed(): SandboxError {
  return new SandboxError('SANDBOX_FAILED', 'What kept the sandbox was killed, and its program with it.', {
    hint: 'Run: glovebox doctor --verify bubblewrap',
  });
}
