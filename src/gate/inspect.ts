import type { LanguageName } from '../languages/language.ts';
import type { Finding } from '../result/result.ts';
import { blockedModules } from './blockedImports.ts';
import type { Inspection } from './inspection.ts';

/**
 * Longer code is not looked at: the parsers run on the caller's thread, and for code made to be slow their
 * time grows with its square (two seconds for this length, half a minute for a megabyte).
 */
export const MAX_INSPECTED_CHARACTERS = 256 * 1024;

/** Reads the code's imports and risky calls from its syntax tree. Throws for an unusable list, never for any code. */
export async function inspectImports(
  code: string,
  language: LanguageName,
  list: readonly string[],
): Promise<Inspection> {
  const blocked = blockedModules(list, language);
  if (code.length > MAX_INSPECTED_CHARACTERS) {
    return notChecked(
      `The code has ${code.length} characters; its imports are checked up to ${MAX_INSPECTED_CHARACTERS}.`,
    );
  }
  switch (language) {
    case 'python': {
      const [{ inspectPython }, { unusualEncoding }] = await Promise.all([
        import('./python/imports.ts'),
        import('./python/encoding.ts'),
      ]);
      const encoding = unusualEncoding(code);
      if (encoding !== undefined)
        return notChecked(`The code declares the encoding ${encoding.name}, in which it is another text.`);
      return inspectPython(code, blocked);
    }
    case 'javascript': {
      const { inspectJavaScript } = await import('./javascript/imports.ts');
      return inspectJavaScript(code, blocked);
    }
    case 'shell':
      return notChecked('There is no import check for shell.');
  }
}

function notChecked(why: string): Inspection {
  return { parsed: false, blockedImports: [], findings: [], notChecked: why };
}

/** Tells a model which modules were refused, where, and what to do instead. Empty when none were. */
export function blockedMessage({ blockedImports, findings }: Inspection): string {
  if (blockedImports.length === 0) return '';
  const where = blockedImports.map((module) => `${module} (${linesOf(module, findings)})`).join(', ');
  const instead = blockedImports.map(
    (module) => `Instead of ${module}: ${INSTEAD[module] ?? INSTEAD_OF_OTHERS}.`,
  );
  return [
    `The code was not run, because it imports what is blocked here: ${where}.`,
    ...instead,
    'The operator can change the list with SANDBOX_BLOCKED_IMPORTS.',
  ].join(' ');
}

const INSTEAD_OF_OTHERS = 'do without it, with the language itself and its other modules';
const PRINT_FOR_CALLER =
  'work on files in the working folder and print the result; the caller can fetch data';
const IN_JAVASCRIPT = 'do the work in JavaScript itself or ask for the shell language';
const INSTEAD: Readonly<Record<string, string>> = {
  os: 'use plain open(...) on files in the working folder',
  subprocess: 'do the work in Python itself or ask for the shell language',
  shutil: 'read and write the files with plain open(...)',
  pathlib: 'use plain open(...) with relative names in the working folder',
  socket: PRINT_FOR_CALLER,
  child_process: IN_JAVASCRIPT,
  fs: 'keep the data in the code and print the result with console.log, or ask for Python and its open(...)',
  net: PRINT_FOR_CALLER,
  dgram: PRINT_FOR_CALLER,
  http: PRINT_FOR_CALLER,
  https: PRINT_FOR_CALLER,
  worker_threads: 'do the work in one thread, with promises where things wait',
  cluster: 'do the work in one process',
  vm: 'call functions of the program itself',
};

const MAX_LINES_NAMED = 5;

function linesOf(module: string, findings: readonly Finding[]): string {
  const lines = findings.filter(({ kind, name }) => kind === 'blocked_import' && isWithin(name, module));
  const unique = [...new Set(lines.map(({ line }) => line))];
  const named = unique.slice(0, MAX_LINES_NAMED).join(', ');
  const more = unique.length > MAX_LINES_NAMED ? ' and others' : '';
  return `line${unique.length === 1 ? '' : 's'} ${named}${more}`;
}

function isWithin(name: string, module: string): boolean {
  return name === module || name.startsWith(`${module}.`) || name.startsWith(`${module}/`);
}
