import { SandboxError } from '../../../errors.ts';
import { READY } from '../../../languages/waiting/waiting.ts';
import type { Folder } from '../../host/folder.ts';
import { WRITABLE } from '../../host/furniture.ts';
import { readHostView } from '../../host/hostView.ts';
import type { FoundInterpreters } from '../../host/interpreters.ts';
import { sendIfRunning } from '../../host/namespaceInit.ts';
import { leftIn } from '../../host/pipes.ts';
import { guestEnvironment, takeInterpreter } from '../../host/stagedGuest.ts';
import { type PreparedInterpreter, prepareInterpreter } from '../../host/waitingInterpreter.ts';
import type { WarmWish } from '../../runtime.ts';
import { fillPreloadFile, preloadPlace } from '../preloadFile.ts';
import type { ForkedProgram } from './forkedProgram.ts';
import { programOrders } from './protocol.ts';

/** How long it may take to start. */
const DEADLINE_MS = 20_000;

/**
 * Lets a forked program become a Node.js already, and resolves when that waits for its orders; `folder` is the root of its
 * file system. Throws `SANDBOX_FAILED` when it does not come to wait.
 */
export async function becomeWaitingNode(
  forked: ForkedProgram,
  { folder, interpreters, wish }: { folder: Folder; interpreters: FoundInterpreters; wish: WarmWish },
): Promise<PreparedInterpreter> {
  const guest = {
    ...{ workspace: WRITABLE.workspace, environment: guestEnvironment(interpreters) },
    interpreter: async () => takeInterpreter(interpreters, wish.language),
  };
  const interpreter = await prepareInterpreter(guest, wish, preloadPlace(readHostView()));
  const { argv, env, preload = '' } = interpreter;
  fillPreloadFile(folder, preload);
  forked.orders.write(
    programOrders({ ...{ becomes: 'command', args: argv, env, stdin: 'stream' }, files: new Map() }),
  );
  forked.orders.end();
  const late = setTimeout(() => sendIfRunning(forked.keeper, 'SIGKILL'), DEADLINE_MS);
  const said = await forked.stdout.take().finally(() => clearTimeout(late));
  if (said === undefined || Buffer.from(said).toString('latin1') !== READY) {
    throw new SandboxError(
      'SANDBOX_FAILED',
      `An interpreter did not come to wait: ${(await leftIn(forked.stderr)) || 'it said nothing'}`,
      { hint: 'Run: glovebox doctor' },
    );
  }
  fillPreloadFile(folder, '');
  return interpreter;
}
