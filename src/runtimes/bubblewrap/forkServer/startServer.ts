/** Starts a fork server: as every program is started, in the same view, but with the rights to make more such views. */
import { writeFileSync } from 'node:fs';
import { findLanguage } from '../../../languages/index.ts';
import { BECOME_MAIN } from '../../../languages/waiting/becomeMain.ts';
import { holderCode } from '../../../languages/waiting/holder/holder.ts';
import { asProgram } from '../../../languages/waiting/waiting.ts';
import { readHostView, readNetworkFiles } from '../../host/hostView.ts';
import { type FoundInterpreters, type HostInterpreter, prefixesOf } from '../../host/interpreters.ts';
import { STATUS_FD } from '../../host/launcher.ts';
import { takeOutputPipes } from '../../host/pipes.ts';
import { ProgramGroups } from '../../host/programGroups.ts';
import { chooseSandboxUser, ownerOtherThanUs } from '../../host/sandboxUser.ts';
import { seccompFilter } from '../../host/seccomp/filter.ts';
import { guestEnvironment } from '../../host/stagedGuest.ts';
import { trialSpec } from '../../host/trialSpec.ts';
import type { Capabilities } from '../../runtime.ts';
import { bubblewrapArguments } from '../arguments.ts';
import { SECCOMP_FD, startProgram } from '../program.ts';
import { createBubblewrapStage, furnish } from '../stage.ts';
import type { Tools } from '../tools.ts';
import { keeperCode } from './keeper/keeper.ts';
import { chooseUsers, ForkServer } from './server.ts';
import { FORK_SERVER } from './sources.ts';

export interface ServerWish {
  readonly tools: Tools;
  readonly capabilities: Capabilities;
  /** What its programs see. */
  readonly interpreters: FoundInterpreters;
  /** What it is run by; it runs in that view. */
  readonly python: HostInterpreter;
  readonly network: 'own' | 'inherited';
  readonly preload: readonly string[];
}

/** The disk of the server itself, on which its own text is; programs have their own. */
const DISK_MB = 16;

/** Libraries for linear algebra start threads when they are imported, and no fork takes those along. */
const ONE_THREAD = { OPENBLAS_NUM_THREADS: '1', OMP_NUM_THREADS: '1', MKL_NUM_THREADS: '1' };

/** Throws `SANDBOX_FAILED` with the reason when it cannot work here, `CONFIG_INVALID` for what cannot be preloaded. */
export async function startServer(wish: ServerWish): Promise<ForkServer> {
  const { tools, capabilities, interpreters, network, preload } = wish;
  const python = findLanguage('python');
  const isRoot = process.getuid?.() === 0;
  const user = chooseSandboxUser();
  const output = await takeOutputPipes(ownerOtherThanUs(user), 'stream');
  const stage = await createBubblewrapStage({
    ...{ tools, user, diskMb: DISK_MB, prefixes: prefixesOf(interpreters), output, stdin: 'stream' },
  });
  try {
    furnish(stage);
    const { fileName } = python;
    writeFileSync(stage.folder.entry(`workspace/${fileName}`), asProgram(BECOME_MAIN + FORK_SERVER), {
      mode: 0o444,
      flag: 'wx',
    });
    const host = readHostView();
    const environment = {
      ...guestEnvironment(interpreters),
      ...(preload.length === 0 ? {} : ONE_THREAD),
    };
    const view = bubblewrapArguments(
      {
        ...{ host, stage: stage.mount, network, environment, statusFd: STATUS_FD, seccompFd: SECCOMP_FD },
        prefixes: prefixesOf(interpreters).map((path) => ({ source: stage.bound.get(path) ?? path, path })),
        networkFiles: readNetworkFiles(network === 'own' ? 'none' : 'open'),
      },
      isRoot ? 'server of root' : 'server of a user',
    );
    const spec = trialSpec();
    const groups = await ProgramGroups.create(undefined, spec, () => ({ memoryBytes: 0, processes: 0 }));
    const seccomp = seccompFilter(process.arch) ?? new Uint8Array();
    let initPid = 0;
    const program = await startProgram(
      { ...{ tools, spec, host, stage, groups, capabilities, seccomp, interpreters } },
      {
        command: {
          argv: python.command(wish.python.path, `/workspace/${fileName}`, []),
          env: environment,
          stdin: 'stream',
        },
        ...{ waiting: stage.first, view, isOurs: true, keepsRights: true },
        made: (pid) => {
          initPid = pid;
        },
      },
    );
    stage.first.launcher.letGo();
    const { stderr } = output;
    return await ForkServer.begin(
      { program, initPid, complaint: stderr, release: () => stage.close() },
      { isRoot, network, seccomp, keeper: keeperCode(), holder: holderCode(), preload },
      isRoot ? chooseUsers() : undefined,
    );
  } catch (error) {
    await stage.first.launcher.abandon();
    stage.close();
    throw error;
  }
}
