import { SandboxError } from '../../errors.ts';
import { cancellable } from '../cancel.ts';
import type { CreateRequest } from '../sandboxHost/protocol.ts';
import { warn } from '../warn.ts';
import { createAt } from './hosts.ts';

export interface CreateFlags {
  readonly runtime?: string;
  readonly language?: string;
  readonly id?: string;
  readonly timeout?: string;
  readonly memoryMb?: string;
  readonly diskMb?: string;
  readonly cpu?: string;
  readonly lifetime?: string;
  readonly idleTimeout?: string;
  readonly minIsolation?: string;
  readonly network?: true | 'none' | 'open';
  readonly allowDomain?: readonly string[];
  readonly config?: string;
  readonly json?: boolean;
}

/** Makes a sandbox that lives on and prints its id; resolves to the exit status. */
export async function create(flags: CreateFlags): Promise<number> {
  return cancellable(async (signal) => {
    const { warnings, ...created } = await createAt(
      {
        ...(flags.config === undefined ? {} : { config: flags.config }),
        ...(flags.id === undefined ? {} : { id: flags.id }),
        ...(flags.language === undefined ? {} : { language: flags.language }),
        ...network(flags),
        flags: written(flags),
      },
      signal,
    );
    warnings.forEach(warn);
    process.stdout.write(flags.json ? `${JSON.stringify({ ...created, warnings })}\n` : `${created.id}\n`);
    return 0;
  });
}

/** As they were given: what they mean is decided where the settings are read. */
function written(flags: CreateFlags): Record<string, string> {
  const names = {
    '--runtime': flags.runtime,
    '--timeout': flags.timeout,
    '--memory-mb': flags.memoryMb,
    '--disk-mb': flags.diskMb,
    '--cpu': flags.cpu,
    '--lifetime': flags.lifetime,
    '--idle-timeout': flags.idleTimeout,
    '--min-isolation': flags.minIsolation,
  };
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function network({ network, allowDomain }: CreateFlags): Pick<CreateRequest, 'network' | 'allowed_domains'> {
  if (allowDomain === undefined) {
    return network === undefined ? {} : { network: network === true ? 'enabled' : network };
  }
  if (network === undefined || network === true) return { network: 'enabled', allowed_domains: allowDomain };
  throw new SandboxError('INPUT_INVALID', `--allow-domain and --network ${network} contradict each other.`, {
    hint: 'Leave one of them out.',
  });
}
