import type { RegistryName } from '../languages/installers/installer.ts';
import type { NetworkRecord, Outcome } from './result.ts';

/** What became of the installation of one package. One that fails is a result, never an exception. */
export interface InstallResult {
  /** True when the package manager says that it is installed. */
  readonly ok: boolean;
  /** As it was asked for. */
  readonly package: string;
  readonly registry: RegistryName;
  /** The version that is there now, as the installed package says; absent where nobody can tell. */
  readonly version?: string;
  /** What happened and, where it failed, what to do about it: in sentences for a person or a model. */
  readonly message: string;
  /** What the package manager printed on both streams; head and tail where it was long. */
  readonly log: string;
  /** Seconds. */
  readonly duration: number;
  /** The package manager's own, or as in an `ExecutionResult`. */
  readonly exitCode: number;
  readonly outcome: Outcome;
  /** Whom the installation asked for, and what became of it. */
  readonly network: NetworkRecord;
  readonly executionId: string;
  readonly sandboxId: string;
  readonly warnings?: readonly string[];
}
