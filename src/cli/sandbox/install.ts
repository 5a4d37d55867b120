import type { Outcome } from '../../result/result.ts';
import { cancellable } from '../cancel.ts';
import { exitStatus } from '../ending.ts';
import { passOn } from '../passOn.ts';
import type { InstallRequest } from '../sandboxHost/protocol.ts';
import { forTerminal } from '../terminal.ts';
import { warn } from '../warn.ts';
import { ask, brokenOff, errorFrom, eventsOf } from './ask.ts';
import { hostOf, pathOf } from './hosts.ts';
import { numberFlag } from './numberFlag.ts';

export interface InstallFlags {
  readonly registry?: string;
  readonly timeout?: string;
  readonly allowScripts?: boolean;
  readonly json?: boolean;
}

/** What of a result is looked at here. */
interface ResultJson {
  readonly ok: boolean;
  readonly outcome: Outcome;
  readonly exit_code: number;
  readonly message: string;
}

/** Installs a package in a sandbox and resolves to the exit status. */
export async function install(id: string, name: string, flags: InstallFlags): Promise<number> {
  const timeout = numberFlag('--timeout', flags.timeout, 'timeoutSec');
  const json: InstallRequest = {
    package: name,
    ...(flags.registry === undefined ? {} : { registry: flags.registry }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(flags.allowScripts ? { allow_scripts: true } : {}),
    stream: !flags.json,
  };
  return cancellable(async (signal) => {
    const path = `${pathOf(id)}/packages`;
    const answer = await ask(await hostOf(id), { method: 'POST', path, json, signal });
    for await (const event of eventsOf(answer)) {
      // What the package manager says is not what the user asked to have.
      if (event.type === 'output') {
        await passOn({ stream: 'stderr', bytes: Buffer.from(event.data, 'base64') });
      } else if (event.type === 'result') {
        return report(event.result as unknown as ResultJson, event.warnings, flags);
      } else if (event.type === 'error') {
        throw errorFrom(event.error);
      }
    }
    throw brokenOff(answer);
  });
}

function report(result: ResultJson, warnings: readonly string[], flags: InstallFlags): number {
  if (flags.json) {
    process.stdout.write(`${JSON.stringify(result)}\n`);
  } else {
    warnings.forEach(warn);
    const stream = result.ok ? process.stdout : process.stderr;
    stream.write(`${result.ok ? '' : 'glovebox: '}${forTerminal(result.message)}\n`);
  }
  const status = exitStatus({ outcome: result.outcome, exitCode: result.exit_code });
  return result.ok || status !== 0 ? status : 1;
}
