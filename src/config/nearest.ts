import { distance } from 'fastest-levenshtein';

/** The known word that `word` was probably meant to be: two letters off, or longer or shorter by whole words. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  return known
    .filter((candidate) => isLike(word, candidate))
    .sort((a, b) => distance(word, a) - distance(word, b))[0];
}

function isLike(word: string, known: string): boolean {
  return known.startsWith(`${word}_`) || word.startsWith(`${known}_`) || distance(word, known) <= 2;
}
