/** What a server says that went wrong, and what goes wrong on the way to it. */
import { z } from 'zod';
import { ERROR_CODES, type ErrorCode, SandboxError, type SandboxErrorOptions } from '../errors.ts';

/** An error that a server answered with. */
export class ServerError extends SandboxError {
  readonly #status: number | undefined;
  readonly #isTold: boolean;

  /** `status` is that of the answer, where it came as one; it is told where the server itself said what it is. */
  constructor(
    code: ErrorCode,
    message: string,
    {
      status,
      isTold,
      ...options
    }: SandboxErrorOptions & { readonly status?: number | undefined; isTold: boolean },
  ) {
    super(code, message, options);
    this.#status = status;
    this.#isTold = isTold;
  }

  /** Whether it is from whatever stands in front of the server, which may be there again in a moment. */
  get isCut(): boolean {
    return !this.#isTold && [502, 503, 504].includes(this.#status ?? 0);
  }

  get status(): number | undefined {
    return this.#status;
  }
}

/** Longer texts help nobody. */
const MAX_TEXT = 10_000;

const shortText = z.string().transform((text) => text.slice(0, MAX_TEXT));

const errorJson = z.object({
  code: z.string(),
  message: shortText,
  hint: shortText.default(''),
  details: z.record(z.string(), z.unknown()).default({}),
});

const errorAnswer = z.object({ error: errorJson });

/** Where a server's answer to an error came from. */
export interface AnswerContext {
  readonly status?: number;
  /** Seconds, where it said when to ask again. */
  readonly retryAfterSec?: number | undefined;
}

/** The error that an event or an answer tells; undefined where it tells none. */
export function errorFromJson(
  json: unknown,
  { status, retryAfterSec }: AnswerContext = {},
): ServerError | undefined {
  const read = errorAnswer.safeParse(json);
  const error = read.success ? read.data.error : errorJson.safeParse(json).data;
  if (error === undefined) return undefined;
  const { code, message, hint } = error;
  const details = { ...error.details, ...(retryAfterSec === undefined ? {} : { retryAfterSec }) };
  if (Object.hasOwn(ERROR_CODES, code)) {
    return new ServerError(code as ErrorCode, message, { hint, details, status, isTold: true });
  }
  const nearest = codeOf(status);
  const told = { ...details, serverCode: code.slice(0, 100) };
  return new ServerError(nearest, message, { hint, details: told, status, isTold: true });
}

/** The error behind an answer whose body does not tell it, as with whatever stands in front of a server. */
export function errorOfStatus(status: number): ServerError {
  const about = { details: { status }, status, isTold: false };
  if (status >= 300 && status < 400) {
    return new ServerError('SANDBOX_FAILED', 'The server answered with another address to ask.', {
      hint: 'Nobody is told the key but who was named. Give connect() the address that it leads to.',
      ...about,
    });
  }
  return new ServerError(codeOf(status), `The server answered with the status ${status}, and not why.`, {
    hint: 'Check that the address is that of `glovebox serve`, and what stands in front of it.',
    ...about,
  });
}

/** The nearest code for a status, where nothing better is known. Pure. */
function codeOf(status: number | undefined): ErrorCode {
  switch (status) {
    case 401:
      return 'UNAUTHENTICATED';
    case 403:
      return 'FORBIDDEN';
    case 429:
      return 'QUOTA_EXCEEDED';
    case 502:
    case 503:
    case 504:
      return 'RUNTIME_UNAVAILABLE';
    default:
      return status !== undefined && status >= 400 && status < 500 ? 'INPUT_INVALID' : 'SANDBOX_FAILED';
  }
}

/** Nobody answered, or not in time. */
export function unreachable(host: string, why: string): SandboxError {
  return new SandboxError('RUNTIME_UNAVAILABLE', `The server at ${host} cannot be reached: ${why}.`, {
    hint: 'Check the address, that `glovebox serve` runs there, and the network between.',
    details: { host },
  });
}

/** Why a connection failed, in a short phrase without anything that was sent. */
export function phraseOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  const { code } = (cause ?? error ?? {}) as { code?: unknown };
  if (typeof code === 'string' && Object.hasOwn(PHRASES, code)) return PHRASES[code] ?? code;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,50}$/.test(code) ? code : 'the connection failed';
}

const PHRASES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ECONNRESET: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  ENOTFOUND: 'there is no such name',
  EAI_AGAIN: 'its name could not be looked up',
  ETIMEDOUT: 'it did not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'it did not answer in time',
  UND_ERR_HEADERS_TIMEOUT: 'it did not answer in time',
  UND_ERR_BODY_TIMEOUT: 'it did not answer in time',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted here',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted here',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};
