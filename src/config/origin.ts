import { printable } from './quote.ts';

/** Where a value came from; `name` is the variable, the key under `security.sandbox`, the flag or the option. */
export type Origin =
  | { readonly kind: 'default' }
  | { readonly kind: FileKind; readonly path: string; readonly name: string }
  | { readonly kind: 'environment' | 'flag' | 'option'; readonly name: string };

/** What a project file is called, in the working folder. */
export const PROJECT_FILE = 'glovebox.yaml';

/** The user file, the project file (as it is, or as a person trusts it), or the one file that was named instead of both. */
export type FileKind = 'user file' | 'project file' | 'trusted project file' | 'config file';

/** An origin in a few words, as messages and `config explain` show it. */
export function describeOrigin(origin: Origin): string {
  switch (origin.kind) {
    case 'default':
      return 'default';
    case 'environment':
      return `environment variable ${printable(origin.name)}`;
    case 'flag':
    case 'option':
      return `${origin.kind} ${printable(origin.name)}`;
    default:
      return `${origin.name} in the ${origin.kind} ${printable(origin.path)}`;
  }
}
