/** What code seems to do, in any language that is looked at, and in the code that it holds itself. */
import type { LanguageName } from '../languages/language.ts';
import type { Sight } from './effects.ts';
import { MAX_INSPECTED_CHARACTERS } from './inspect.ts';
import type { Elsewhere, Observed } from './observer.ts';
import { WrittenFiles } from './writtenFiles.ts';

export interface CodeInspection {
  /** The dangerous ones first, each in the order of the lines. */
  readonly sights: readonly Sight[];
  /** Why nothing was looked at, as a sentence. */
  readonly notInspected?: string;
  /** What it runs besides, of which it does not say the text; absent where there is none. */
  readonly elsewhere?: readonly Elsewhere[];
}

export const MAX_SIGHTS = 100;

/** Code in code in code: deeper ones are told as hiding what they do. */
const MAX_DEPTH = 8;
const MAX_PIECES = 1_000;

/**
 * Reads code for what a person would want to know before it runs. Advice and never a wall: it does not see what is
 * made only while the code runs. Never throws for any code.
 */
export async function inspectCode(code: string, language: LanguageName): Promise<CodeInspection> {
  if (code.length > MAX_INSPECTED_CHARACTERS) {
    const notInspected = `The code has ${code.length} characters; what it does is looked at up to ${MAX_INSPECTED_CHARACTERS}.`;
    return { sights: [], notInspected };
  }
  const files = new WrittenFiles();
  const sights: Sight[] = [];
  const elsewhere: Elsewhere[] = [];
  const known = new Set<string>();
  let waiting = [{ language, code, line: 0 }];
  let pieces = 0;
  let characters = 0;
  for (let depth = 0; waiting.length > 0; depth++) {
    const next: typeof waiting = [];
    for (const piece of waiting) {
      const key = `${piece.language} ${piece.code}`;
      if (known.has(key)) continue;
      known.add(key);
      characters += piece.code.length;
      const isTooMuch =
        depth > MAX_DEPTH || ++pieces > MAX_PIECES || characters > 2 * MAX_INSPECTED_CHARACTERS;
      if (isTooMuch) {
        sights.push({ ...TOO_MUCH, line: Math.max(1, piece.line) });
        break;
      }
      const inspect = await inspectorOf(piece.language);
      const observed = inspect(depth === 0 ? piece.code : readable(piece), files);
      const { sights: seen, embedded } = observed;
      elsewhere.push(...observed.elsewhere);
      const lineOf = (line: number): number => (depth === 0 ? line : piece.line);
      for (const sight of seen) sights.push({ ...sight, line: lineOf(sight.line) });
      for (const inner of embedded) next.push({ ...inner, line: lineOf(inner.line) });
    }
    waiting = next;
  }
  return { sights: chosen(sights), ...(elsewhere.length === 0 ? {} : { elsewhere }) };
}

const TOO_MUCH: Omit<Sight, 'line'> = {
  effect: 'hides_what_it_does',
  name: 'the code',
  why: 'holds more code in code than can be followed',
  isDangerous: true,
};

type Inspector = (code: string, files: WrittenFiles) => Observed;

async function inspectorOf(language: LanguageName): Promise<Inspector> {
  switch (language) {
    case 'python':
      return (await import('./python/effects.ts')).inspectPythonEffects;
    case 'javascript':
      return (await import('./javascript/effects.ts')).inspectJavaScriptEffects;
    case 'shell':
      return (await import('./shell/inspectShell.ts')).inspectShell;
  }
}

/** With a name in place of what only the running program knows, so that the rest can be parsed. */
function readable({ language, code }: { language: LanguageName; code: string }): string {
  return code.replaceAll('\0', language === 'shell' ? '"$unknown"' : 'unknown');
}

/** Without those that are there twice; the dangerous ones first where there are too many. */
function chosen(sights: readonly Sight[]): Sight[] {
  const unique = new Map<string, Sight>();
  for (const sight of sights) {
    const key = `${sight.effect} ${sight.line} ${sight.name} ${sight.isDangerous}`;
    if (!unique.has(key)) unique.set(key, sight);
  }
  const ordered = [...unique.values()].sort(
    (a, b) => Number(b.isDangerous) - Number(a.isDangerous) || a.line - b.line,
  );
  return ordered.slice(0, MAX_SIGHTS);
}
