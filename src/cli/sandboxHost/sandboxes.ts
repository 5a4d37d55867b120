import { SandboxError } from '../../errors.ts';
import { createContext } from '../../operations/context.ts';
import type { LiveSandbox } from '../../operations/liveSandbox.ts';
import { type SandboxInfo, SandboxManager } from '../../operations/sandboxManager.ts';
import { settingFlags } from '../settingFlags.ts';
import { log } from './log.ts';
import type { CreatedJson, CreateRequest, SandboxJson } from './protocol.ts';

/** The sandboxes of a background process. Each is made with the settings of its own request. */
export class Sandboxes {
  readonly #manager: SandboxManager;
  readonly #caller: () => string | undefined;

  /** `onEnded` is called whenever one has ended; `caller` tells whose request is being served. */
  constructor(onEnded: () => void, caller: () => string | undefined) {
    this.#caller = caller;
    this.#manager = new SandboxManager({
      onEvent: (event) => {
        if (event.type === 'created') return log(`made ${event.sandboxId} (${event.runtime})`);
        log(`${event.sandboxId} has ended: ${event.message}`);
        onEnded();
      },
    });
  }

  /** Nothing is left of it when the signal comes before it is there. */
  async create(request: CreateRequest, signal: AbortSignal): Promise<CreatedJson> {
    const { cwd, env, config, id, language, network, allowed_domains: allowedDomains } = request;
    const context = await createContext({
      trustEarlierTrial: true,
      surface: 'cli',
      caller: this.#caller,
      cwd,
      env,
      ...(config === undefined ? {} : { configFile: config }),
      ...settingFlags(request.flags),
    });
    const made = await this.#manager.createSandboxWith(context, {
      signal,
      ...(id === undefined ? {} : { sandboxId: id }),
      ...(language === undefined ? {} : { language }),
      ...(network === undefined ? {} : network === 'enabled' ? { networkEnabled: true } : { network }),
      ...(allowedDomains === undefined ? {} : { allowedDomains }),
    });
    const { enforced, warnings } = this.get(made);
    return { ...this.info(made), isolation: enforced.isolation, warnings };
  }

  list(): readonly SandboxJson[] {
    return this.#manager.list().map(toJson);
  }

  /** Throws `SANDBOX_NOT_FOUND`, or `SANDBOX_CLOSED` with the reason. */
  get(id: string): LiveSandbox {
    return this.#manager.get(id);
  }

  info(id: string): SandboxJson {
    this.get(id);
    const found = this.list().find((sandbox) => sandbox.id === id);
    if (found !== undefined) return found;
    throw new SandboxError('SANDBOX_CLOSED', `The sandbox ${id} has just ended.`, {
      hint: 'Make a new one.',
    });
  }

  destroy(id: string): Promise<void> {
    return this.#manager.destroySandbox(id);
  }

  close(): Promise<void> {
    return this.#manager.close();
  }
}

function toJson({
  id,
  runtime,
  language,
  createdAt,
  expiresAt,
  lastUsedAt,
  running,
}: SandboxInfo): SandboxJson {
  return {
    id,
    runtime,
    language,
    created_at: createdAt,
    expires_at: expiresAt,
    last_used_at: lastUsedAt,
    running,
  };
}
