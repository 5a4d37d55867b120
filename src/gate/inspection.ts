import type { Finding } from '../result/result.ts';

/** What the code's syntax says about it. Helps against accidents; code that hides what it imports is not found. */
export interface Inspection {
  /** False when no interpreter can accept the code; it says so best itself, so nothing is reported then. */
  readonly parsed: boolean;
  /** Unique, in order of appearance, by their names on the list: `os` for `import os.path`. */
  readonly blockedImports: readonly string[];
  readonly findings: readonly Finding[];
  /** Why nothing was looked at, as a sentence. */
  readonly notChecked?: string;
}
