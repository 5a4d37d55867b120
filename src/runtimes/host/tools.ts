import { findExecutable } from './executables.ts';

/** Why something does not work here, and what to do. */
export interface Missing {
  readonly reason: string;
  readonly fix: string;
}

/** Finds programs of the host, or says which is missing and which package has it, or what else to do for it. */
export function findTools<Name extends string>(
  packages: Readonly<Record<Name, string>>,
  fixes: { readonly [Each in Name]?: string } = {},
): Readonly<Record<Name, string>> | Missing {
  const paths: Partial<Record<Name, string>> = {};
  for (const [name, packageName] of Object.entries<string>(packages)) {
    const path = findExecutable(name);
    if (path === undefined) {
      return {
        reason: `${packageName === name ? name : `${packageName} (${name})`} is not installed.`,
        fix:
          fixes[name as Name] ??
          `Install it: apt-get install ${packageName} (or your system's package of that name).`,
      };
    }
    paths[name as Name] = path;
  }
  return paths as Readonly<Record<Name, string>>;
}
