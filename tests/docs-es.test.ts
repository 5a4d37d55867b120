/** Holds the Spanish pages to the English ones: what can be compared without knowing either language. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');

const PAIRS = [
  ['README.md', 'docs/es/README.md'],
  ['docs/settings.md', 'docs/es/configuracion.md'],
  ['THREAT_MODEL.md', 'docs/es/seguridad.md'],
  ['docs/troubleshooting.md', 'docs/es/problemas.md'],
] as const;

/** The only cells of the tables of settings that are words and neither names nor values. */
const TRANSLATED: Readonly<Record<string, string>> = { none: 'ninguna', unset: 'sin valor', empty: 'vacía' };

describe.each(PAIRS)('%s and %s', (english, spanish) => {
  it('link to each other', () => {
    for (const [from, to] of [
      [english, spanish],
      [spanish, english],
    ] as const) {
      expect(read(from)).toContain(`](${relative(dirname(from), to)})`);
    }
  });

  it('have headings of the same levels in the same order', () => {
    expect(outline(spanish)).toEqual(outline(english));
  });

  it('have the same code blocks, those that are run included', () => {
    expect(blocks(spanish)).toEqual(blocks(english));
  });
});

describe('docs/settings.md and docs/es/configuracion.md', () => {
  it('have the same settings with the same keys and defaults, row by row', () => {
    const told = (document: string, name: string) =>
      tableAfter(document, name).map((cells) => cells.slice(0, 3));
    const english = told('docs/settings.md', 'variable').map((cells) =>
      cells.map((cell) => TRANSLATED[cell] ?? cell),
    );
    expect(told('docs/es/configuracion.md', 'variable')).toEqual(english);
    expect(english.length).toBeGreaterThan(20);
  });

  it('have the same other names and the same options', () => {
    for (const [english, spanish] of [
      ['other name', 'otro nombre'],
      ['option', 'opción'],
    ] as const) {
      const expected = tableAfter('docs/settings.md', english).map((cells) => cells.slice(0, 2).map(codeIn));
      expect(expected.length).toBeGreaterThan(2);
      const told = tableAfter('docs/es/configuracion.md', spanish);
      expect(told.map((cells) => cells.slice(0, 2).map(codeIn))).toEqual(expected);
    }
  });
});

describe('THREAT_MODEL.md and docs/es/seguridad.md', () => {
  it('have the same boundaries: the same promises by number, in the same files, with the same tests', () => {
    const english = boundaries('THREAT_MODEL.md');
    expect(boundaries('docs/es/seguridad.md')).toEqual(english);
    expect(english.some((cells) => cells.flat().includes('13'))).toBe(true);
  });
});

describe('docs/troubleshooting.md and docs/es/problemas.md', () => {
  it('have the same messages and names, row by row', () => {
    const names = (document: string) =>
      tableRows(prose(document)).map((cells) => cells.flatMap(codeIn).sort());
    expect(names('docs/es/problemas.md')).toEqual(names('docs/troubleshooting.md'));
  });
});

function read(document: string): string {
  return readFileSync(join(ROOT, document), 'utf8');
}

/** A document's text without its code blocks, in which a comment looks like a heading. */
function prose(document: string): string {
  return read(document).replace(/^```[\s\S]*?^```$/gm, '');
}

function outline(document: string): string[] {
  return [...prose(document).matchAll(/^(#+) /gm)].map(([, level = '']) => level);
}

function blocks(document: string): string[] {
  return read(document).match(/^```[\s\S]*?^```$/gm) ?? [];
}

/** The cells of all rows of a text's tables, their headings included. */
function tableRows(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^[|\s-]+$/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** The rows of the table whose first heading is this. */
function tableAfter(document: string, heading: string): string[][] {
  const rows = prose(document).split(new RegExp(`^\\| ${heading} \\|.*\\n`, 'm'))[1] ?? '';
  return tableRows(rows.split('\n\n')[0] ?? '');
}

function codeIn(cell: string): string[] {
  return cell.match(/`[^`]+`/g) ?? [];
}

/** Of each cell of each table: what is marked as code, and the numbers of promises, as in `(9, 10; plain too)`. */
function boundaries(document: string): string[][][] {
  return tableRows(prose(document)).map((cells) =>
    cells.map((cell) => {
      const promises = /\((\d+(?:, \d+)*)(?:;[^()]*)?\)$/.exec(cell)?.[1] ?? '';
      return [...codeIn(cell), ...(promises.match(/\d+/g) ?? [])];
    }),
  );
}
