import { type LoadOptions, USER_FILE, userFilePath } from '../../config/load.ts';
import { proposeTrust, type TrustProposal, trustStore } from '../../config/trustProposal.ts';
import { SandboxError } from '../../errors.ts';
import type { Terminal } from '../../gate/approval/openTerminal.ts';
import { terminalTurns } from '../terminalTurns.ts';
import { askForYes, controllingTerminal } from './askForYes.ts';
import { showTrust } from './showTrust.ts';

export interface TrustOptions extends Pick<LoadOptions, 'cwd' | 'env' | 'homeDir'> {
  readonly signal: AbortSignal;
  /** Another terminal than the one that controls this process. */
  readonly open?: () => Terminal | undefined;
}

/** How a person was asked, and about what. */
export interface Trusting extends Pick<TrustProposal, 'path' | 'sha256'> {
  readonly outcome: 'trusted' | 'not trusted' | 'trusted already';
}

/**
 * Shows a project file to a person and lets it count as the user's own settings when they say so. There is no way to
 * answer for them: without a terminal it is refused (`INPUT_INVALID`).
 */
export async function trustProjectFile(file: string | undefined, options: TrustOptions): Promise<Trusting> {
  const { signal, open = controllingTerminal, ...surroundings } = options;
  const proposal = await proposeTrust(file, surroundings);
  const { path, sha256, bytes, trust } = proposal;
  const store = trustStore(surroundings);
  store.assertUsable();
  if (trust.is === 'trusted') return { path, sha256, outcome: 'trusted already' };
  const talk = (): Promise<boolean> => {
    const terminal = open();
    if (terminal === undefined) throw nobodyToAsk(surroundings);
    return askForYes(terminal, (columns) => showTrust(proposal, columns), PROMPT, signal);
  };
  const isYes = await terminalTurns(surroundings).hold(talk, signal);
  // What was shown is what is trusted, whatever lies there by now.
  if (isYes) store.pin(path, bytes);
  return { path, sha256, outcome: isYes ? 'trusted' : 'not trusted' };
}

const PROMPT = 'Type yes, then Enter, to trust it; anything else leaves it as it is: ';

function nobodyToAsk(surroundings: Pick<LoadOptions, 'env' | 'homeDir'>): SandboxError {
  return new SandboxError(
    'INPUT_INVALID',
    'A person must look at the file, and there is no terminal to ask on.',
    {
      hint: `Run it in the foreground of a terminal. Where there is none, put the settings into ${userFilePath(surroundings) ?? USER_FILE} instead.`,
    },
  );
}
