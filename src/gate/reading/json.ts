import {
  handedOn,
  NOTHING,
  ofEntries,
  ofItems,
  ofNumber,
  ofTexts,
  type Value,
  withOrigins,
} from './values.ts';

/** Short ones only, since the same one may be read again and again. */
const MAX_CHARACTERS = 2048;
const MAX_DEPTH = 8;

/** What a text in JSON holds; undefined where the text is not known. */
export function fromJson(text: Value): Value | undefined {
  const [json] = text.texts;
  if (json === undefined || json.length > MAX_CHARACTERS) return undefined;
  try {
    return withOrigins(valueIn(JSON.parse(json), 0), handedOn([text]));
  } catch (error) {
    // No JSON: the program itself would fail here.
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

function valueIn(data: unknown, depth: number): Value {
  if (typeof data === 'string') return ofTexts([data]);
  if (typeof data === 'number' || typeof data === 'boolean') return ofNumber(Number(data));
  if (typeof data !== 'object' || data === null || depth > MAX_DEPTH) return NOTHING;
  if (Array.isArray(data)) return ofItems(data.map((one) => valueIn(one, depth + 1)));
  return ofEntries(new Map(Object.entries(data).map(([key, one]) => [key, valueIn(one, depth + 1)])));
}
