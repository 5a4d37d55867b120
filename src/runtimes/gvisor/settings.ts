/** What an operator sets for gVisor without an engine. */
export interface GvisorSettings {
  /** A folder with a root file system; the host's own system folders otherwise. */
  readonly root?: string;
}
