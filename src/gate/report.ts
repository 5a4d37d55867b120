import type { Finding } from '../result/result.ts';
import type { Inspection } from './inspection.ts';

/** Something found in a tree, before it is known whether the list cares. */
export type Sighting =
  | { readonly kind: 'import'; readonly modules: readonly string[]; readonly line: number }
  | { readonly kind: 'call'; readonly name: string; readonly why: string; readonly line: number };

/** What is said about code that no interpreter accepts. */
export const NOT_PARSED: Inspection = { parsed: false, blockedImports: [], findings: [] };

/** Turns sightings, in order of appearance, into the inspection. `separators` are what divides a module from its parts. */
export function report(
  sightings: readonly Sighting[],
  blocked: ReadonlySet<string>,
  separators: readonly string[],
): Inspection {
  const names = new Set<string>();
  const findings: Finding[] = [];
  for (const sighting of sightings) {
    const { line } = sighting;
    if (sighting.kind === 'call') {
      const { name, why } = sighting;
      findings.push({ kind: 'dangerous_call', name, line, message: `${name} ${why}.` });
      continue;
    }
    for (const module of sighting.modules) {
      const entry = entryFor(module, blocked, separators);
      if (entry === undefined) continue;
      names.add(entry);
      const name = isPlain(module) ? module : entry;
      findings.push({
        kind: 'blocked_import',
        name,
        line,
        message: `${name} is on the list of blocked imports.`,
      });
      break;
    }
  }
  return { parsed: true, blockedImports: [...names], findings };
}

function entryFor(
  module: string,
  blocked: ReadonlySet<string>,
  separators: readonly string[],
): string | undefined {
  for (const entry of blocked) {
    if (module === entry) return entry;
    if (separators.some((separator) => module.startsWith(entry + separator))) return entry;
  }
  return undefined;
}

/** A module's name may come from a string in the code; only a harmless one is repeated. */
function isPlain(module: string): boolean {
  return /^[\p{ID_Continue}@./-]{1,80}$/u.test(module);
}
