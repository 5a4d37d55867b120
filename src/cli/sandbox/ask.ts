/** Asking a background process: HTTP over its socket, without anything that takes long to load. */
import { randomUUID } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type ErrorCode, SandboxError } from '../../errors.ts';
import { packageVersion } from '../../version.ts';
import {
  CALLER_HEADER,
  ENDING_HEADER,
  type ErrorJson,
  type HostEvent,
  PID_HEADER,
  VERSION_HEADER,
} from '../sandboxHost/protocol.ts';

/** This process, as background processes know it. */
export const CALLER = randomUUID();

export interface Question {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With its names already escaped. */
  readonly path: string;
  readonly json?: unknown;
  readonly body?: Uint8Array | Readable;
  readonly signal?: AbortSignal;
}

/** Nobody answers at a socket, or whoever does takes nothing more on. */
export class NobodyThere extends SandboxError {
  constructor(cause?: unknown) {
    super('SANDBOX_FAILED', 'The background process has just ended, and its sandboxes with it.', {
      hint: 'Make new ones. Run: glovebox sandbox list',
      cause,
    });
  }
}

/** Somebody answers who may mean something else by the same words. */
export class OtherVersion extends SandboxError {
  constructor(pid: string, theirs: string) {
    const ours = packageVersion();
    super('SANDBOX_FAILED', `The background process ${pid} is of Glovebox ${theirs}, and this is ${ours}.`, {
      hint: `Use that version for its sandboxes, or end it together with them: kill ${pid}`,
      details: { pid, theirs, ours },
    });
  }
}

/** The answer to a question. Throws what the process throws, `NobodyThere` and `OtherVersion`. */
export async function ask(socket: string, question: Question): Promise<IncomingMessage> {
  const answer = await send(socket, question);
  if (answer.headers[ENDING_HEADER] !== undefined) {
    answer.resume();
    throw new NobodyThere();
  }
  assertSameVersion(answer);
  if ((answer.statusCode ?? 500) >= 400) throw errorOf(answer.statusCode, await text(answer));
  return answer;
}

/** The same for an answer that is JSON. */
export async function askJson<Answer>(socket: string, question: Question): Promise<Answer> {
  return JSON.parse(await text(await ask(socket, question))) as Answer;
}

/** The same where there is nothing in the answer. */
export async function tell(socket: string, question: Question): Promise<void> {
  for await (const _ of await ask(socket, question));
}

/** The lines of an answer as they come. Throws where it breaks off. */
export async function* eventsOf(answer: IncomingMessage): AsyncGenerator<HostEvent> {
  answer.setEncoding('utf8');
  let rest = '';
  try {
    for await (const chunk of answer) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as HostEvent;
    }
  } catch (error) {
    throw brokenOff(answer, error);
  }
}

/** What a process says that went wrong, as the error that it was there. */
export function errorFrom({ code, message, hint, details }: ErrorJson): SandboxError {
  return new SandboxError(code as ErrorCode, message, { hint, details });
}

/** The end of an answer that should have gone on: its process is gone. */
export function brokenOff(answer: IncomingMessage, cause?: unknown): SandboxError {
  const pid = answer.headers[PID_HEADER];
  return new SandboxError('SANDBOX_FAILED', `The background process ${pid} broke off its answer.`, {
    hint: 'If it was ended, its sandboxes are gone: make new ones. Run: glovebox sandbox list',
    details: { pid },
    cause,
  });
}

function send(
  socketPath: string,
  { method = 'GET', path, json, body, signal }: Question,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      socketPath,
      method,
      path,
      // Nothing is asked twice on one connection, and none is left open.
      agent: false,
      headers: {
        [CALLER_HEADER]: CALLER,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(signal === undefined ? {} : { signal }),
    });
    request.once('response', resolve);
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(isNobody(error) ? new NobodyThere(error) : error);
    request.on('error', fail);
    if (body === undefined || body instanceof Uint8Array) {
      request.end(json === undefined ? body : JSON.stringify(json));
    } else {
      // What cannot be sent any more, because the answer came first, is told by the answer.
      pipeline(body, request).catch(fail);
    }
  });
}

/** Reset before an answer: it ended while we waited in front of its socket. */
function isNobody({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'EPIPE';
}

function assertSameVersion({ headers }: IncomingMessage): void {
  const { [VERSION_HEADER]: theirs = 'of an unknown version', [PID_HEADER]: pid = 'at its socket' } = headers;
  if (theirs !== packageVersion()) throw new OtherVersion(String(pid), String(theirs));
}

function errorOf(status: number | undefined, body: string): SandboxError {
  try {
    return errorFrom((JSON.parse(body) as { error: ErrorJson }).error);
  } catch (cause) {
    return new SandboxError('SANDBOX_FAILED', `The background process answered with the status ${status}.`, {
      hint: 'This is a bug of Glovebox: please report it with the command that you ran.',
      details: { body: body.slice(0, 1000) },
      cause,
    });
  }
}
