/** What the command line and its background process say to each other. */

/** In every answer: what is told in it means what this version means by it. */
export const VERSION_HEADER = 'glovebox-version';

/** In every answer: which process it is from. */
export const PID_HEADER = 'glovebox-pid';

/** In every request: a name for who asks that nobody else knows. By it they find what people are asked because of them. */
export const CALLER_HEADER = 'glovebox-caller';

/** In an answer of a process that takes nothing more on, because its last sandbox is gone. */
export const ENDING_HEADER = 'glovebox-ending';

export interface CreateRequest {
  /** The caller's working folder. */
  readonly cwd: string;
  /** What of the caller's environment settings are read from. */
  readonly env: Readonly<Record<string, string>>;
  readonly config?: string;
  readonly id?: string;
  readonly language?: string;
  readonly network?: 'none' | 'open' | 'enabled';
  readonly allowed_domains?: readonly string[];
  /** As the flags were written, by their settings. */
  readonly flags: Readonly<Record<string, string>>;
}

/** One sandbox; times are ISO 8601. */
export interface SandboxJson {
  readonly id: string;
  readonly runtime: string;
  readonly language: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly last_used_at: string;
  readonly running: boolean;
}

export interface CreatedJson extends SandboxJson {
  readonly isolation: string;
  readonly warnings: readonly string[];
}

export interface ExecuteRequest {
  /** In base64: the very bytes. */
  readonly code?: string;
  /** Instead of code. */
  readonly command?: readonly string[];
  readonly language?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly timeout?: number;
  readonly max_memory_mb?: number;
  readonly max_output_kb?: number;
  /** The program reads what is put to `executions/…/stdin`; nothing otherwise. */
  readonly stdin?: boolean;
  /** Output is told as it comes. */
  readonly stream?: boolean;
  /** In a copy of the workspace. */
  readonly dry_run?: boolean;
}

/** What a dry run did, and by what name it is committed; stands beside its result. */
export interface DryRunJson {
  readonly id: string;
  readonly effects_sha256: string;
  readonly effects: Readonly<Record<string, unknown>>;
  /** The effects for a person to read; names in it are as the program chose them. */
  readonly text: string;
}

export interface InstallRequest {
  readonly package: string;
  readonly registry?: string;
  readonly timeout?: number;
  readonly allow_scripts?: boolean;
  /** What the package manager prints is told as it comes. */
  readonly stream?: boolean;
}

/** The process reads the host's files itself: it is the same user's, on the same host. Paths of the host are absolute. */
export interface UploadRequest {
  readonly host_path: string;
  readonly path: string;
  readonly exclude: readonly string[];
}

export interface DownloadRequest {
  readonly path: string;
  readonly host_folder: string;
  readonly overwrite: boolean;
}

/** What the answers to executions and to installations consist of, one on each line. */
export type HostEvent =
  | { readonly type: 'accepted'; readonly execution: string }
  /** In base64. */
  | { readonly type: 'output'; readonly stream: 'stdout' | 'stderr'; readonly data: string }
  /** `warnings` are those that its making has not told already. */
  | {
      readonly type: 'result';
      readonly result: Record<string, unknown>;
      readonly warnings: readonly string[];
      readonly dry_run?: DryRunJson;
    }
  | { readonly type: 'error'; readonly error: ErrorJson };

export interface ErrorJson {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What a background process says to whoever started it. */
export type Started = { readonly ready: true } | { readonly error: ErrorJson };
