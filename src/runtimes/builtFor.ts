/**
 * The program of a table that was built for a machine, as `process.arch` names it; undefined where there is none. The
 * tables are what `scripts/build-programs.sh` writes.
 */
export function builtFor(programs: Readonly<Record<string, string>>, machine: string): Buffer | undefined {
  return Object.hasOwn(programs, machine) ? Buffer.from(programs[machine] ?? '', 'base64') : undefined;
}
