/** What the console asks of this server. */
import type {
  ConsoleBackend,
  ConsoleExecution,
  OutputOptions,
  OutputPiece,
  ShownExecution,
  WaitingQuestion,
} from '../console/backend.ts';
import type { Question } from '../operations/approvals.ts';
import { LOG_START, type LogEntry, type OutputLog, totalOf } from '../operations/outputLog.ts';
import type { RichResult } from '../result/contextExecution.ts';
import { knownIn, unexpectedError } from './errors.ts';
import type { Execution } from './executions.ts';
import type { Parts } from './parts.ts';
import { assertOfOthers } from './routes/approvals.ts';
import { whileWatched } from './whileWatched.ts';

/** How often it is looked for questions, which other processes ask too. */
const LOOK_MS = 500;

/** How much output is told at once. */
const CHUNK_BYTES = 64 * 1024;

export function consoleBackend(parts: Parts): ConsoleBackend {
  const { keys, approvals, trail, manager, sandboxes, executions, changes } = parts;
  const nameOf = (id: string | undefined): string =>
    (id === undefined ? undefined : keys.find(id)?.name) ?? id ?? 'nobody';
  const withAsker = (question: Question): WaitingQuestion => {
    const { askedBy: id } = question;
    return { question, askedBy: id === undefined ? null : { id, name: nameOf(id) } };
  };
  const looking = whileWatched(async () => (await approvals()).waiting().map(({ id }) => id), {
    everyMs: LOOK_MS,
    onChange: () => changes.tell('questions'),
  });
  const find = (id: string): Execution | undefined => executions.all.find((execution) => execution.id === id);
  return {
    authenticate: async (secret) => keys.authenticate(secret),
    key: async (id) => keys.find(id),

    questions: async () => (await approvals()).waiting().map(withAsker),
    question: async (id) => withAsker((await approvals()).read(id)),
    async answer(id, hash, answer, by) {
      const room = await approvals();
      const question = room.read(id);
      assertOfOthers(question, by.id);
      room.answer({ ...question, hash }, answer);
      changes.tell('questions');
      changes.tell('grants');
    },
    grants: async () => (await approvals()).grants(),
    async revoke(id) {
      await (await approvals()).revoke(id);
      changes.tell('grants');
    },

    sandboxes: async () =>
      manager.list().map((info) => ({ ...info, keyName: nameOf(sandboxes.ownerOf(info.id)) })),
    executions: async () => [...executions.all].reverse().map(toConsole),
    async execution(id) {
      const found = find(id);
      return found && toShown(found);
    },
    async *output(id, options) {
      const found = find(id);
      if (found !== undefined) yield* outputOf(found.log, options);
    },

    async *records(filter) {
      yield* (await trail()).records({ filter });
    },
    verify: async () => (await trail()).verify(),
    async receipt(id) {
      const receipt = await (await trail()).receipt(id);
      if ('receipt' in receipt) return receipt;
      throw new Error('It was signed, though no key was given.');
    },

    watch(onChange) {
      const unwatch = changes.watch(onChange);
      const leave = looking();
      return () => {
        leave();
        unwatch();
      };
    },
  };
}

function toConsole(execution: Execution): ConsoleExecution {
  const { id, caller, sandboxId, language, state, askedAt, startedAt, endedAt } = execution;
  const { result, error } = execution;
  return {
    ...{ id, keyName: caller.name, sandboxId, language, state },
    startedAt: (startedAt ?? askedAt).toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
    ...(result === undefined ? {} : { result }),
    ...(state === 'failed' ? { error: knownIn(error) ?? unexpectedError() } : {}),
  };
}

function toShown(execution: Execution): ShownExecution {
  const richResults = execution.log.richResults.map((json) => JSON.parse(json) as RichResult);
  return { ...toConsole(execution), richResults };
}

/** Numbers count all that was written, in its order. */
async function* outputOf(
  log: OutputLog,
  { after, follow, signal }: OutputOptions,
): AsyncGenerator<OutputPiece> {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  let at = after === 0 ? LOG_START : log.positionAt(after);
  const missed = totalOf(at) - after;
  if (after > 0 && missed > 0)
    yield { type: 'gap', stream: 'stdout', droppedBytes: missed, next: totalOf(at) };
  let leave = (): void => {};
  signal?.addEventListener('abort', () => leave(), { once: true });
  while (!signal?.aborted) {
    const changed = log.changed();
    const entries = log.after(at, CHUNK_BYTES);
    for (const entry of entries) {
      at = entry.next;
      const piece = pieceOf(entry, decoders);
      if (piece !== undefined) yield piece;
    }
    if (entries.length > 0) continue;
    if (!follow || log.ended) return;
    await new Promise<void>((resolve) => {
      leave = resolve;
      void changed.then(resolve);
    });
  }
}

function pieceOf(
  entry: LogEntry,
  decoders: Readonly<Record<'stdout' | 'stderr', InstanceType<typeof TextDecoder>>>,
): OutputPiece | undefined {
  if (entry.type === 'rich') return undefined;
  const { stream, next } = entry;
  const total = totalOf(next);
  if (entry.type === 'gap') return { type: 'gap', stream, next: total, droppedBytes: entry.droppedBytes };
  const text = decoders[stream].decode(entry.bytes, { stream: true });
  // Whoever goes on from there reads a character whole that has not come whole yet.
  return text === ''
    ? undefined
    : { type: 'output', stream, next: total - unfinishedBytes(entry.bytes), text };
}

/** How many bytes at the end begin a character of UTF-8 without ending it. */
function unfinishedBytes(bytes: Uint8Array): number {
  for (let count = 1; count <= Math.min(3, bytes.length); count++) {
    const byte = bytes[bytes.length - count] ?? 0;
    if (byte < 0x80) return 0;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 0;
    if (length > 0) return length > count ? count : 0;
  }
  return 0;
}
