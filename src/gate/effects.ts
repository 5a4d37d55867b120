/** What code may do that a person would want to know of. */
export type Effect =
  | 'deletes_files'
  | 'starts_programs'
  | 'opens_connections'
  | 'downloads_and_runs'
  | 'evaluates_text'
  | 'reads_credentials'
  | 'writes_executables'
  | 'installs_packages'
  | 'changes_the_system'
  | 'exhausts_resources'
  | 'hides_what_it_does';

/** One thing that the code seems to do. */
export interface Sight {
  readonly effect: Effect;
  /** What does it: a command, a function. */
  readonly name: string;
  /** From 1. */
  readonly line: number;
  /** As the end of a sentence that begins with the name. */
  readonly why: string;
  /** Not ordinary work: a person should see it before it runs. */
  readonly isDangerous: boolean;
}
