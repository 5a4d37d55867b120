/** What the operators of Python give. */
import {
  anyOf,
  concatenated,
  DECODED,
  handedOn,
  mapTexts,
  NOTHING,
  ofNumber,
  ofTexts,
  type Value,
  withOrigins,
} from '../reading/values.ts';
import { table } from '../table.ts';
import { joinedPath, PATH } from './paths.ts';
/** Undefined where that is not known. */
export function pythonOperation(operator: string, left: Value, right: Value): Value | undefined {
  if (operator === '/' && (left.names.has(PATH) || right.names.has(PATH))) {
    return { ...joinedPath([left, right]), names: new Set([PATH]) };
  }
  if (operator === '%' && left.texts.length > 0) return filled(left, right);
  const [a, b] = [left.number, right.number];
  if (operator === '*') {
    const [text, times] = left.texts[0] === undefined ? [right, a] : [left, b];
    if (text.texts[0] !== undefined && times !== undefined) {
      return mapTexts(text, (one) =>
        times >= 0 && one.length * times <= 65_536 ? one.repeat(Math.trunc(times)) : null,
      );
    }
  }
  if (a === undefined || b === undefined) return undefined;
  const result = ARITHMETIC[operator]?.(a, b);
  return result === undefined ? undefined : ofNumber(result);
}

const ARITHMETIC = table<(a: number, b: number) => number>({
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '//': (a, b) => Math.floor(a / b),
  '%': (a, b) => a - b * Math.floor(a / b),
  '**': (a, b) => a ** b,
  '^': (a, b) => a ^ b,
  '<<': (a, b) => a * 2 ** b,
  '>>': (a, b) => Math.floor(a / 2 ** b),
  '&': (a, b) =>
    Number(BigInt.asUintN(64, BigInt(Math.trunc(a) || 0)) & BigInt.asUintN(64, BigInt(Math.trunc(b) || 0))),
  '|': (a, b) => a | b,
});
/** `'%s %s' % (a, b)` */
function filled(text: Value, values: Value): Value {
  const results = text.texts.map((format) => {
    let next = 0;
    const pieces = format.split(/(%(?:\(\w+\))?[-+ #0]*\d*(?:\.\d+)?[a-zA-Z%])/).map((piece) => {
      if (piece === '%%') return ofTexts(['%']);
      const match = /^%(?:\((\w+)\))?[^%]*[a-zA-Z]$/.exec(piece);
      if (match === null) return ofTexts([piece]);
      const value =
        match[1] === undefined
          ? values.items === undefined
            ? next++ === 0
              ? values
              : undefined
            : values.items[next++]
          : values.entries?.get(match[1]);
      if (value === undefined) return NOTHING;
      const { number } = value;
      return piece.endsWith('c') && number !== undefined && number >= 0 && number <= 0x10ffff
        ? ofTexts([String.fromCodePoint(Math.trunc(number))], DECODED)
        : value;
    });
    return concatenated(pieces);
  });
  return withOrigins(anyOf(results), handedOn([text]));
}
