import { randomUUID } from 'node:crypto';
import { SandboxError } from '../../errors.ts';
import type { LanguageName } from '../../languages/language.ts';
import type { Command } from '../runtime.ts';
import type { Folder } from './folder.ts';
import { WRITABLE } from './furniture.ts';
import { HostGuest } from './hostGuest.ts';
import { type FoundInterpreters, type HostInterpreter, searchPath } from './interpreters.ts';
import { Launcher } from './launch.ts';
import { takeOutputPipes } from './pipes.ts';
import type { ProgramGroups } from './programGroups.ts';
import { ownerOtherThanUs } from './sandboxUser.ts';
import { LAUNCHER_ENVIRONMENT, type Stage, type Waiting } from './stage.ts';
import { readStatus } from './status.ts';
import { WorkspaceFiles } from './workspaceFiles.ts';

export interface StagedParts {
  readonly tools: { readonly bash: string };
  readonly stage: Stage;
  readonly groups: ProgramGroups;
  readonly interpreters: FoundInterpreters;
}

/** Where a launcher that enters a stage finds the stage's namespaces: a path for each, once it has started. */
export const NAMESPACES = {
  mount: '/proc/self/fd/5',
  user: '/proc/self/fd/6',
  network: '/proc/self/fd/7',
} as const;

/** The variables that every program gets in a guest with these interpreters. */
export function guestEnvironment(interpreters: FoundInterpreters): Readonly<Record<string, string>> {
  return {
    PATH: searchPath(interpreters),
    HOME: WRITABLE.workspace,
    PWD: WRITABLE.workspace,
    LANG: 'C.UTF-8',
    TMPDIR: WRITABLE.tmp,
  };
}

/** The interpreter of a guest that was made with these. Throws `LANGUAGE_UNAVAILABLE`. */
export function takeInterpreter(interpreters: FoundInterpreters, language: LanguageName): HostInterpreter {
  const found = interpreters.get(language);
  if (found instanceof SandboxError) throw found;
  if (found !== undefined) return found;
  throw new SandboxError('LANGUAGE_UNAVAILABLE', `This sandbox was not made for ${language}.`, {
    hint: `Name ${language} when the sandbox is made.`,
    details: { language },
  });
}

/** What the guests share whose files are on a stage: each program of it starts there. */
export abstract class StagedGuest extends HostGuest {
  readonly workspace = WRITABLE.workspace;
  readonly environment: Readonly<Record<string, string>>;
  readonly #parts: StagedParts;
  readonly #workspaceFolder: Folder;
  #first: Waiting | undefined;

  protected constructor(parts: StagedParts) {
    const { stage, interpreters } = parts;
    const workspaceFolder = stage.folder.enter('workspace');
    super(new WorkspaceFiles(workspaceFolder, WRITABLE.workspace, ownerOtherThanUs(stage.user)));
    this.#parts = parts;
    this.#workspaceFolder = workspaceFolder;
    this.#first = stage.first;
    this.environment = guestEnvironment(interpreters);
  }

  /**
   * The command that enters the stage's namespaces, and a network's where there is one to enter; what it shall run
   * there is added at its end.
   */
  protected abstract enterStage(entersNetwork: boolean): readonly string[];

  async interpreter(language: LanguageName): Promise<HostInterpreter> {
    return takeInterpreter(this.#parts.interpreters, language);
  }

  /**
   * The process that made the stage for the first program, a new one in the stage for a later one, or for one that is
   * to be in the network of this descriptor.
   */
  protected async takeLauncher(stdin: Command['stdin'], network?: number): Promise<Waiting> {
    const first = this.#first;
    const fits = first?.launcher.isWaiting && (first.stdin === 'stream') === (stdin === 'stream');
    if (first === undefined || !fits || network !== undefined) return this.#startLauncher(stdin, network);
    this.#first = undefined;
    return first;
  }

  protected async release(): Promise<void> {
    await this.#first?.launcher.abandon();
    await this.#parts.groups.remove();
    this.#workspaceFolder.close();
    this.#parts.stage.close();
  }

  async #startLauncher(stdin: Command['stdin'], network: number | undefined): Promise<Waiting> {
    const { tools, stage } = this.#parts;
    const orders = `orders-${randomUUID()}`;
    const launcher = Launcher.start({
      bash: tools.bash,
      enter: this.enterStage(network !== undefined),
      steps: [],
      orders: `${stage.mount}/${orders}`,
      cwd: '/',
      environment: LAUNCHER_ENVIRONMENT,
      stdin,
      output: await takeOutputPipes(ownerOtherThanUs(stage.user), stdin),
      descriptors: [stage.mountNamespace, stage.userNamespace ?? 'ignore', network ?? 'ignore'],
    });
    return { launcher, status: readStatus(launcher.status), orders, stdin };
  }
}
