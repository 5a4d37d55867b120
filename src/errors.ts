/** Every code that a {@link SandboxError} can carry, with what it means. */
export const ERROR_CODES = {
  INPUT_INVALID: 'A value given by the caller is not usable.',
  CONFIG_INVALID: 'A setting, or the file that holds it, is not usable.',
  POLICY_DENIED: 'The operator does not allow this.',
  POLICY_NOT_ENFORCEABLE: 'The runtime cannot hold what was asked for.',
  APPROVAL_DENIED: 'A person said no, or nobody answered.',
  APPROVAL_PENDING: 'A person has been asked and has not answered yet.',
  APPROVAL_EXPIRED: 'The approval is too old or was made for something else.',
  RUNTIME_UNKNOWN: 'There is no runtime of this name.',
  RUNTIME_UNAVAILABLE: 'The runtime does not work on this machine.',
  LANGUAGE_UNAVAILABLE: 'There is no usable interpreter for this language.',
  SANDBOX_NOT_FOUND: 'There is no sandbox of this id.',
  SANDBOX_CLOSED: 'The sandbox has been closed.',
  SANDBOX_FAILED: 'The isolation itself failed, not the program in it.',
  POOL_EXHAUSTED: 'No more sandboxes may be started now.',
  WAIT_FAILED: 'What was waited for did not come.',
  WORKSPACE_CHANGED: 'The workspace is not what it was when this was prepared.',
  FILE_NOT_FOUND: 'There is no such file in the workspace.',
  PATH_OUTSIDE_WORKSPACE: 'The path does not stay inside the workspace.',
  AUDIT_UNAVAILABLE: 'The record cannot be written, so nothing may run.',
  MODEL_FAILED: 'The model cannot be asked, or did not answer.',
  UNAUTHENTICATED: 'Nobody said who is asking.',
  FORBIDDEN: 'Whoever asks may not do this.',
  QUOTA_EXCEEDED: 'Whoever asks has used up what they may use.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface SandboxErrorOptions {
  /** What to do about it, with the command or the setting. */
  readonly hint: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** The one error that Glovebox throws on purpose; anything else that is thrown is a bug of ours. */
export class SandboxError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, { hint, details = {}, cause }: SandboxErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SandboxError';
    this.code = code;
    this.hint = hint;
    this.details = details;
  }

  /** The shape that every surface prints for an error. */
  toJSON(): {
    error: { code: ErrorCode; message: string; hint: string; details: Readonly<Record<string, unknown>> };
  } {
    return { error: { code: this.code, message: this.message, hint: this.hint, details: this.details } };
  }
}

/** Tells a {@link SandboxError} from everything else, also across two copies of this package. */
export function isSandboxError(value: unknown): value is SandboxError {
  return value instanceof Error && value.name === 'SandboxError' && 'code' in value && 'hint' in value;
}
