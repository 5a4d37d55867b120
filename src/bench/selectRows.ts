import { SandboxError } from '../errors.ts';

interface Named {
  readonly name: string;
  readonly onlyFull?: true;
}

/**
 * The rows that are meant: by their names, by the beginning of their names up to a dot, or by a pattern in which `*`
 * stands for anything. Those of a full run are left out where it is none and nobody names them. Throws `INPUT_INVALID`
 * for what means none.
 */
export function selectRows<Row extends Named>(
  rows: readonly Row[],
  { only = [], full = false }: { readonly only?: readonly string[]; readonly full?: boolean },
): Row[] {
  const usual = (row: Row): boolean => full || row.onlyFull !== true;
  if (only.length === 0) return rows.filter(usual);
  const meant = only.flatMap((pattern) => {
    const named = rows.filter(({ name }) => name === pattern);
    const found = named.length > 0 ? named : rows.filter(matcher(pattern)).filter(usual);
    if (found.length > 0) return found;
    throw new SandboxError('INPUT_INVALID', `There is no row called ${JSON.stringify(pattern)}.`, {
      hint: `Use names, their beginnings up to a dot, or * in them: ${rows.map(({ name }) => name).join(', ')}.`,
      details: { only: pattern },
    });
  });
  return rows.filter((row) => meant.includes(row));
}

function matcher(pattern: string): (row: Named) => boolean {
  const literal = (text: string): string => text.replace(/[\\^$.+?()[\]{}|]/g, '\\$&');
  const expression = new RegExp(`^${pattern.split('*').map(literal).join('.*')}(\\..*)?$`);
  return ({ name }) => expression.test(name);
}
