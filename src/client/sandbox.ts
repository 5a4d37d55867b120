/** A live sandbox of a server. */

import { SandboxError } from '../errors.ts';
import { checkCommand, checkOptions } from '../operations/checkOptions.ts';
import { jobOf, languageOf } from '../operations/jobOf.ts';
import { checkCode } from '../operations/options.ts';
import type { ProcessHandle, SandboxHandle } from '../operations/sandboxService.ts';
import { installResultSchema, resultSchema } from '../result/resultFromJson.ts';
import type { SandboxEnd } from '../sandbox/ended.ts';
import { remoteContext } from './context.ts';
import { remoteDryRun } from './dryRun.ts';
import { type Listeners, missedWarnings } from './execution.ts';
import { remoteFiles } from './files.ts';
import { followPages, pageOf } from './pages.ts';
import { type KnownEnd, type Place, placeOf } from './place.ts';
import { remoteProcess } from './process.ts';
import { liveExecutionJson, processJson } from './requests.ts';
import type { Transport } from './transport.ts';
import {
  type ProcessAnswer,
  processAnswer,
  processesAnswer,
  type SandboxAnswer,
  sandboxAnswer,
} from './wire.ts';
import { withMissed } from './withMissed.ts';

/** What is asked of a sandbox by its id alone. */
export type SandboxOperations = Omit<
  SandboxHandle,
  | keyof Pick<SandboxHandle, 'runtime' | 'enforced' | 'warnings' | 'createdAt' | 'expiresAt'>
  | keyof Pick<SandboxHandle, 'ended' | 'whenEnded' | 'close' | typeof Symbol.asyncDispose>
>;

export function operationsOn(place: Place, describe: () => Promise<SandboxAnswer>): SandboxOperations {
  const { transport, id } = place;
  const handles = new Map<string, ProcessHandle>();
  const handleOn = (answer: ProcessAnswer): ProcessHandle => {
    const known = handles.get(answer.processId) ?? remoteProcess(place, answer);
    handles.set(answer.processId, known);
    return known;
  };
  return {
    id,
    async execute(code, options = {}) {
      checkOptions('run', options);
      checkCode(code);
      const json = await liveExecutionJson({ code }, options);
      return withMissed(
        await place.run({ path: 'executions', json, schema: resultSchema, ...listenersOf(options) }),
      );
    },
    async exec(command, options = {}) {
      checkCommand(command);
      checkOptions('exec', options);
      const json = await liveExecutionJson({ command }, options);
      return withMissed(
        await place.run({ path: 'executions', json, schema: resultSchema, ...listenersOf(options) }),
      );
    },
    async dryRun(job, options = {}) {
      checkOptions('run', options);
      return remoteDryRun(place, jobOf(job), { ...languageOf(job), ...options });
    },
    async start(job, { onOutput, signal, ...options } = {}) {
      checkOptions('start', { ...options, ...listenersOf({ onOutput, signal }) });
      signal?.throwIfAborted();
      const json = processJson(jobOf(job), { ...languageOf(job), ...options });
      const answer = await place.json(
        { method: 'POST', path: 'processes', json, retry: true },
        processAnswer,
      );
      const { stdin } = options;
      const process = remoteProcess(place, answer, {
        ...listenersOf({ onOutput, signal }),
        ...(stdin === undefined || stdin === 'stream' || stdin instanceof Uint8Array ? {} : { stdin }),
      });
      handles.set(answer.processId, process);
      return process;
    },
    async processes() {
      const { processes } = await place.json({ path: 'processes' }, processesAnswer);
      const known = new Set(processes.map(({ processId }) => processId));
      for (const processId of handles.keys()) if (!known.has(processId)) handles.delete(processId);
      return processes.map(handleOn);
    },
    context: (language, options = {}) => remoteContext(place, language, options),
    async forward() {
      throw new SandboxError('POLICY_DENIED', 'A server opens no port that leads into a sandbox.', {
        hint: 'Ask from inside, with exec or a process, and read what it prints.',
        details: { sandboxId: id },
      });
    },
    output: (executionId, request) => place.guarded(() => pageOf(transport, executionId, request)),
    async *follow(executionId, request) {
      await place.guarded(async () => {});
      yield* followPages(transport, executionId, request);
    },
    ...remoteFiles(place, async () => maxBytesOf(await describe())),
    async installPackage(name, options = {}) {
      checkOptions('install', options);
      const { registry, timeout, allowScripts } = options;
      const { result, missed } = await place.run({
        path: 'packages',
        json: { package: name, registry, timeout, allow_scripts: allowScripts },
        schema: installResultSchema,
        ...listenersOf(options),
      });
      const warnings = [...(result.warnings ?? []), ...missedWarnings(missed)];
      return warnings.length === 0 ? result : { ...result, warnings };
    },
  };
}

/** A handle on a sandbox that lives; `known` learns its end from whatever is asked through it. */
export function remoteSandbox(
  transport: Transport,
  answer: SandboxAnswer,
  known: KnownEnd,
  destroy: () => Promise<void>,
): SandboxHandle {
  const { id, runtime, enforced, warnings, createdAt, expiresAt } = answer;
  const place = placeOf(transport, id, known.guarded);
  const close = async (): Promise<void> => {
    if (known.end !== undefined) return;
    await destroy();
  };
  let whenEnded: Promise<SandboxEnd> | undefined;
  return {
    ...{ runtime, enforced, warnings, createdAt, expiresAt },
    ...operationsOn(place, async () => answer),
    get ended() {
      return known.end;
    },
    get whenEnded() {
      whenEnded ??= endOf(place, known);
      return whenEnded;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** How often a server is asked whether a sandbox still lives, where somebody waits for its end. */
const LOOK_MS = 5000;

/** Settles once its end is known. Nothing is asked before somebody waits for it, and no process lives on for that. */
function endOf(place: Place, known: KnownEnd): Promise<SandboxEnd> {
  return new Promise((resolve) => {
    const look = setInterval(() => {
      // What the answer tells, `known` learns; a server that cannot be reached now is asked again.
      place.json({ path: '', retry: false }, sandboxAnswer).catch(() => {});
    }, LOOK_MS).unref();
    known.whenKnown(() => {
      clearInterval(look);
      resolve(known.end as SandboxEnd);
    });
  });
}

/** As much as the sandbox itself would carry: its disk. */
function maxBytesOf({ enforced }: SandboxAnswer): number {
  const { value } = enforced.limits.diskMb;
  return value === null ? DEFAULT_MAX_BYTES : value * 1024 * 1024;
}

const DEFAULT_MAX_BYTES = 1024 ** 3;

type MaybeListeners = { readonly [Name in keyof Listeners]: Listeners[Name] | undefined };

function listenersOf({ onOutput, onStart, signal }: MaybeListeners): Listeners {
  return {
    ...(onOutput === undefined ? {} : { onOutput }),
    ...(onStart === undefined ? {} : { onStart }),
    ...(signal === undefined ? {} : { signal }),
  };
}
