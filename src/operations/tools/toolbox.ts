import { setMaxListeners } from 'node:events';
import type { z } from 'zod';
import { isSandboxError, SandboxError } from '../../errors.ts';
import { installResultToJson } from '../../result/installResultJson.ts';
import type { Context } from '../context.ts';
import { executeOnce } from '../execute.ts';
import type { LiveSandbox } from '../liveSandbox.ts';
import { type SandboxInfo, SandboxManager } from '../sandboxManager.ts';
import { executed, executedIn, failed, fileRead, filesListed, type Kept, said } from './answers.ts';
import { KeptSandboxes } from './keptSandboxes.ts';
import { type INPUTS, NEW, TOOLS } from './schemas.ts';
import { TOOL_NAMES, type ToolAnswer, type ToolCallOptions, type ToolName } from './tool.ts';

export { TOOLS } from './schemas.ts';

export interface ToolboxOptions {
  /** The settings, and for whom is asked: with a surface that hands tools to a model. */
  readonly context: Context;
  /** Makes its sandboxes, which count there; one of its own otherwise. */
  readonly manager?: SandboxManager;
  /** How long the text of an answer may be, in bytes; 16,384 by default. */
  readonly maxTextBytes?: number;
}

const MAX_TEXT_BYTES = 16 * 1024;

type Input<Name extends ToolName> = z.infer<(typeof INPUTS)[Name]>;

type Tools = {
  readonly [Name in ToolName]: (input: Input<Name>, options: ToolCallOptions) => Promise<ToolAnswer>;
};

/** The tools of one agent, with the sandboxes that it has made: an id of another agent's is not known here. */
export class Toolbox implements AsyncDisposable {
  readonly #context: Context;
  readonly #manager: SandboxManager;
  readonly #ownManager: SandboxManager | undefined;
  readonly #kept: KeptSandboxes;
  readonly #maxTextBytes: number;
  /** New sandboxes in which something waits for a person, by the call: the same call again goes on there. */
  readonly #waiting = new Map<string, string[]>();
  /** What `close` has to wait for: it has no sandbox yet that could be ended. */
  readonly #unfinished = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor({ context, manager, maxTextBytes = MAX_TEXT_BYTES }: ToolboxOptions) {
    this.#context = context;
    this.#ownManager = manager === undefined ? new SandboxManager() : undefined;
    this.#manager = manager ?? (this.#ownManager as SandboxManager);
    this.#kept = new KeptSandboxes(context, this.#manager);
    this.#maxTextBytes = maxTextBytes;
    // Every call listens.
    setMaxListeners(0, this.#closing.signal);
  }

  /** Does what a tool is for. Never rejects: whatever goes wrong is the answer. */
  async call(name: string, input: unknown, options: ToolCallOptions = {}): Promise<ToolAnswer> {
    try {
      const known = checkName(name);
      const signals = [this.#closing.signal, ...(options.signal === undefined ? [] : [options.signal])];
      this.#closing.signal.throwIfAborted();
      return await this.#tools[known](checkInput(known, input) as never, {
        ...options,
        signal: AbortSignal.any(signals),
      });
    } catch (error) {
      return failed(error);
    }
  }

  /** Those of this agent that live. */
  sandboxes(): readonly SandboxInfo[] {
    return this.#kept.list();
  }

  /** Throws `SANDBOX_NOT_FOUND` for one that is not of this agent, or `SANDBOX_CLOSED`. */
  sandbox(id: string): LiveSandbox {
    return this.#kept.get(id);
  }

  /** Ends every sandbox of this agent, and whatever is on its way to one; safe to call twice. */
  async close(): Promise<void> {
    this.#closing.abort(toolsClosed());
    await Promise.allSettled(this.#unfinished);
    try {
      await this.#kept.close();
    } finally {
      await this.#ownManager?.close();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  readonly #tools: Tools = {
    code_execute: (input, options) =>
      input.sandbox_id === undefined
        ? this.#untilClosed(this.#executeOnce(input, options))
        : this.#in('code_execute', input.sandbox_id, input, options, (sandbox) =>
            this.#executeIn(sandbox, input, options),
          ),
    code_install_package: (input, options) =>
      this.#in('code_install_package', input.sandbox_id, input, options, async (sandbox) => {
        const { registry, package: name } = input;
        const result = await sandbox.installPackage(name, { registry, ...given(options) });
        const notes = result.warnings ?? [];
        return said([result.message, ...notes].join(' '), keptOf(sandbox), installResultToJson(result));
      }),
    code_write_file: (input, options) =>
      this.#in('code_write_file', input.sandbox_id, input, options, async (sandbox) => {
        const bytes = bytesOf(input);
        const written = await sandbox.writeFile(input.path, bytes);
        return said(`Wrote ${written.size} bytes to ${written.path}.`, keptOf(sandbox), written);
      }),
    code_read_file: async ({ path, sandbox_id }) => {
      const sandbox = this.#kept.get(sandbox_id);
      return fileRead(keptOf(sandbox), path, await sandbox.readFile(path), this.#maxTextBytes);
    },
    code_list_files: async ({ path, sandbox_id }) => {
      const sandbox = this.#kept.get(sandbox_id);
      return filesListed(keptOf(sandbox), await sandbox.listFiles(path), this.#maxTextBytes);
    },
    code_destroy_sandbox: async ({ sandbox_id }) => {
      await this.#kept.destroy(sandbox_id);
      return {
        text: `The sandbox ${sandbox_id} has ended, and all that was in it is gone.`,
        structured: { sandbox_id, destroyed: true },
        ...{ pictures: [], isError: false },
      };
    },
  };

  async #executeOnce(input: Input<'code_execute'>, options: ToolCallOptions): Promise<ToolAnswer> {
    const { code, language, timeout } = input;
    const result = await executeOnce(
      await this.#manager.warmed(this.#context),
      { code },
      {
        language,
        ...(timeout === undefined ? {} : { timeout }),
        ...networkOf(input),
        ...given(options),
      },
    );
    return executed(result, this.#maxTextBytes);
  }

  async #executeIn(
    sandbox: LiveSandbox,
    input: Input<'code_execute'>,
    options: ToolCallOptions,
  ): Promise<ToolAnswer> {
    const { code, language, timeout } = input;
    if (input.sandbox_id !== NEW) assertSameNetwork(sandbox, input);
    const context = await this.#kept.context(sandbox, language);
    const result = await context.execute(code, {
      ...(timeout === undefined ? {} : { timeout }),
      // As much as of a program that runs once: all of it is kept, page by page.
      maxOutputKb: this.#context.loaded.settings.maxOutputKb,
      ...given(options),
    });
    return executedIn(keptOf(sandbox), result, this.#maxTextBytes);
  }

  /** In the sandbox that is named, or in a new one, which is gone again where nothing came of it. */
  async #in(
    name: ToolName,
    id: string | undefined,
    input: unknown,
    options: ToolCallOptions,
    action: (sandbox: LiveSandbox) => Promise<ToolAnswer>,
  ): Promise<ToolAnswer> {
    if (id !== undefined && id !== NEW) return action(this.#kept.get(id));
    const call = JSON.stringify([name, input]);
    const made = this.#newSandbox(call, input as Partial<Input<'code_execute'>>, options);
    const sandbox = await this.#untilClosed(made);
    let isOfUse = false;
    try {
      const answer = await action(sandbox);
      // Nobody learns the id of what was cancelled.
      isOfUse = !answer.isError && options.signal?.aborted !== true;
      return answer;
    } catch (error) {
      if (!isSandboxError(error) || error.code !== 'APPROVAL_PENDING') throw error;
      isOfUse = true;
      this.#waitIn(sandbox, call);
      throw error;
    } finally {
      if (!isOfUse) await this.#kept.destroy(sandbox.id);
    }
  }

  async #newSandbox(
    call: string,
    input: Partial<Input<'code_execute'>>,
    { signal }: ToolCallOptions,
  ): Promise<LiveSandbox> {
    const waiting = this.#waiting.get(call)?.shift();
    if (waiting !== undefined) return this.#kept.get(waiting);
    return this.#kept.create({
      ...(input.language === undefined ? {} : { language: input.language }),
      ...networkOf(input),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** The same call made twice at once waits in two sandboxes. */
  #waitIn({ id, whenEnded }: LiveSandbox, call: string): void {
    const waiting = this.#waiting.get(call) ?? [];
    this.#waiting.set(call, [...waiting, id]);
    void whenEnded.then(() => {
      const left = this.#waiting.get(call)?.filter((other) => other !== id) ?? [];
      if (left.length === 0) this.#waiting.delete(call);
      else this.#waiting.set(call, left);
    });
  }

  #untilClosed<T>(work: Promise<T>): Promise<T> {
    this.#unfinished.add(work);
    const over = (): void => void this.#unfinished.delete(work);
    work.then(over, over);
    return work;
  }
}

function toolsClosed(): SandboxError {
  return new SandboxError('SANDBOX_CLOSED', 'The tools have been closed, and their sandboxes with them.', {
    hint: 'Open new ones.',
    details: { reason: 'tools_closed' },
  });
}

function checkName(name: string): ToolName {
  const known = TOOL_NAMES.find((tool) => tool === name);
  if (known !== undefined) return known;
  throw new SandboxError('INPUT_INVALID', `There is no tool ${JSON.stringify(name.slice(0, 64))}.`, {
    hint: `Use one of: ${TOOL_NAMES.join(', ')}.`,
  });
}

function checkInput(name: ToolName, input: unknown): unknown {
  const tool = TOOLS.find((one) => one.name === name);
  const { success, data, error } = (tool as (typeof TOOLS)[number]).input.safeParse(input ?? {});
  if (success) return data;
  const [issue] = error.issues;
  const where = issue?.path.join('.') ?? '';
  throw new SandboxError(
    'INPUT_INVALID',
    `The arguments of ${name} cannot be used: ${where === '' ? '' : `${where}: `}${issue?.message}.`,
    {
      hint: `It takes: ${Object.keys((tool as (typeof TOOLS)[number]).input.shape).join(', ')}.`,
      details: { tool: name, argument: where },
    },
  );
}

function networkOf({ network_enabled, allowed_domains }: Partial<Input<'code_execute'>>) {
  return {
    ...(network_enabled === undefined ? {} : { networkEnabled: network_enabled }),
    ...(allowed_domains === undefined ? {} : { allowedDomains: allowed_domains }),
  };
}

/** The network of a sandbox is what it was made with: a call that asks for another one is told so. */
function assertSameNetwork(
  { id, enforced }: LiveSandbox,
  { network_enabled, allowed_domains }: Input<'code_execute'>,
): void {
  const has = enforced.network !== 'none';
  const isSame = network_enabled === undefined || network_enabled === has;
  if (isSame && allowed_domains === undefined) return;
  throw new SandboxError(
    'INPUT_INVALID',
    `The sandbox ${id} was made ${has ? 'with' : 'without'} a network, and that cannot be changed.`,
    {
      hint: 'Leave network_enabled and allowed_domains out, or pass them with sandbox_id "new".',
      details: { sandboxId: id },
    },
  );
}

function bytesOf({ content, encoding }: Input<'code_write_file'>): Uint8Array {
  if (encoding === 'utf8') return Buffer.from(content);
  const bytes = Buffer.from(content, 'base64');
  const isWhole = bytes.toString('base64').replace(/=+$/, '') === content.replace(/[\s=]+/g, '');
  if (isWhole) return bytes;
  throw new SandboxError('INPUT_INVALID', 'The content is no base64.', {
    hint: 'Give it with encoding "utf8", or encode it.',
  });
}

function given({ signal, onOutput }: ToolCallOptions): Pick<ToolCallOptions, 'signal' | 'onOutput'> {
  return { ...(signal === undefined ? {} : { signal }), ...(onOutput === undefined ? {} : { onOutput }) };
}

function keptOf({ id, expiresAt }: LiveSandbox): Kept {
  return { id, expiresAt };
}
