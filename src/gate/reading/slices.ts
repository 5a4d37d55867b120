/** Values made of parts of others. */
import {
  concatenated,
  DECODED,
  handedOn,
  NOTHING,
  ofItems,
  ofNumber,
  originsOf,
  type Value,
} from './values.ts';

/** `object[from:to:step]` */
export function sliced(object: Value, ...bounds: (Value | null)[]): Value {
  const [from, to, step] = bounds.map((bound) => (bound === null ? undefined : bound?.number));
  const isKnown = bounds.every((bound) => bound === null || bound.number !== undefined);
  if (!isKnown) {
    return { ...NOTHING, ...(object.items && { items: object.items }), origins: object.origins };
  }
  const cut = <T>(list: readonly T[]): T[] => {
    const part = (step ?? 1) < 0 ? [...list].reverse() : list.slice(from, to);
    const every = Math.abs(step ?? 1) || 1;
    return part.filter((_one, i) => i % every === 0);
  };
  if (object.items !== undefined) return ofItems(cut(object.items), object.origins);
  const isTurned = step !== undefined && step !== 1;
  return {
    ...NOTHING,
    texts: object.texts.map((text) => cut([...text]).join('')),
    isOpen: object.isOpen,
    origins: new Set([...originsOf([object]), ...(isTurned ? DECODED : [])]),
  };
}

/** `a + b + c`, of texts, numbers or lists. */
export function sumOf(values: readonly Value[]): Value {
  if (values.some(({ items }) => items !== undefined)) {
    return ofItems(
      values.flatMap((value) => value.items ?? [NOTHING]),
      handedOn(values),
    );
  }
  if (values.every(({ number, texts }) => number !== undefined && texts.length === 0)) {
    return ofNumber(values.reduce((total, { number = 0 }) => total + number, 0));
  }
  return concatenated(values);
}
