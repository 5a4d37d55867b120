/**
 * Measures everything on this machine with the built command, and writes the table and the picture into docs/ and the
 * README, between their marks. Arguments go to `glovebox bench`, as in `npm run bench:docs -- --pairs 200`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type JsonReport, reportFromJson } from '../src/bench/report/json.ts';
import { howMeasured, markdownTable } from '../src/bench/report/markdown.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** The text between two marks is replaced; throws where there are none. */
function replaceBetween(text: string, mark: string, replacement: string): string {
  const [start, end] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`];
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`There is no ${start} … ${end}.`);
  return `${text.slice(0, from + start.length)}\n${replacement}\n${text.slice(to)}`;
}

const folder = mkdtempSync(join(tmpdir(), 'bench-docs-'));
try {
  const file = join(folder, 'bench.json');
  const picture = join(ROOT, 'docs/benchmarks.svg');
  execFileSync(
    process.execPath,
    [
      join(ROOT, 'dist/cli/main.js'),
      'bench',
      '--full',
      '--output',
      file,
      '--svg',
      picture,
      ...process.argv.slice(2),
    ],
    { stdio: 'inherit' },
  );
  const report = reportFromJson(JSON.parse(readFileSync(file, 'utf8')) as JsonReport);
  const measured = `\n${markdownTable(report)}\n\n${howMeasured(report)}\n`;
  for (const name of ['README.md', 'docs/benchmarks.md']) {
    const path = join(ROOT, name);
    writeFileSync(path, replaceBetween(readFileSync(path, 'utf8'), 'bench', measured));
  }
} finally {
  rmSync(folder, { recursive: true });
}
