import type { Call } from './language.ts';
import { anyOf, type Value } from './values.ts';

const MAX_ELEMENTS = 16;

/** What a function gets that was itself given to a call: `list.map(f)`, `promise.then(f)`, `Thread(target=f, args=x)`. */
export function handedTo(callback: Value, call: Call, resultOf: (call: Call) => Value): readonly Value[] {
  const { method = '', receiver, keywords, args } = call;
  const given = keywords.get('args')?.items;
  if (given !== undefined) return given;
  if (method === 'then' && receiver !== undefined) return [receiver];
  if (receiver?.items !== undefined) return [anyOf(receiver.items.slice(0, MAX_ELEMENTS))];
  const others = args.filter((arg) => arg !== callback);
  if (method === 'submit') return others;
  const list = others.find(({ items }) => items !== undefined)?.items;
  if (list !== undefined) return [anyOf(list.slice(0, MAX_ELEMENTS))];
  const result = resultOf({ ...call, args: others });
  return [result, result];
}
