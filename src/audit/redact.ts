const REDACTED = '[redacted]';

/** Shorter values are words such as `on` or `yes`; taking them out would only make the record unreadable. */
const MIN_SECRET_CHARACTERS = 4;

/** Base64 of a secret inside something longer is searched for from here on; shorter ones match by chance. */
const MIN_EMBEDDED_CHARACTERS = 8;

export type Redact = (text: string) => string;

/** Takes given values, in the forms they are usually printed in, and well-known kinds of keys out of text. Idempotent. */
export function redactor(secrets: Iterable<string>): Redact {
  const values = [...secrets].filter((secret) => secret.length >= MIN_SECRET_CHARACTERS);
  const forms = [...new Set(values.flatMap(printedForms))].sort((a, b) => b.length - a.length);
  return (text) => redactShapes(redactValues(text, forms));
}

/**
 * Redacts every string of a JSON-like value. Keys of an object are data, and redacted too, where `isMap` says so
 * of the name that the object stands under; keys of a known schema need to stay readable.
 */
export function redactDeep<Value>(
  value: Value,
  redact: Redact,
  isMap: (name: string) => boolean = () => true,
): Value {
  const walk = (inner: unknown, name: string): unknown => {
    if (typeof inner === 'string') return redact(inner);
    if (Array.isArray(inner)) return inner.map((element) => walk(element, name));
    if (typeof inner !== 'object' || inner === null) return inner;
    const members = Object.entries(inner).map(([key, member]) => [key, walk(member, key)] as const);
    return Object.fromEntries(isMap(name) ? withRedactedKeys(members, redact) : members);
  };
  return walk(value, '') as Value;
}

/** Two keys that become the same are numbered, so that no entry is lost. */
function withRedactedKeys(
  members: readonly (readonly [string, unknown])[],
  redact: Redact,
): [string, unknown][] {
  const taken = new Map<string, number>();
  return members.map(([key, member]) => {
    const redacted = redact(key);
    const count = (taken.get(redacted) ?? 0) + 1;
    taken.set(redacted, count);
    return [count === 1 ? redacted : `${redacted} (${count})`, member];
  });
}

function printedForms(secret: string): string[] {
  const urlEncoded = urlForms(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    ...urlEncoded,
    ...urlEncoded.map(withLowerCaseHex),
    ...base64Forms(secret).flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]),
  ].filter((form) => form.length >= MIN_SECRET_CHARACTERS);
}

function urlForms(secret: string): string[] {
  // Buffer replaces lone surrogates, at which `encodeURIComponent` would throw.
  const wellFormed = Buffer.from(secret).toString();
  const component = encodeURIComponent(wellFormed);
  const strict = component.replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams({ '': wellFormed }).toString().slice(1);
  return [component, encodeURI(wellFormed), strict, strict.replaceAll('%2F', '/'), form];
}

function withLowerCaseHex(encoded: string): string {
  return encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

/** On its own, and inside something longer (`user:secret`), where only its place modulo 3 changes the characters. */
function base64Forms(secret: string): string[] {
  const alone = Buffer.from(secret).toString('base64');
  if (secret.length < MIN_EMBEDDED_CHARACTERS) return [alone, alone.replace(/=+$/, '')];
  const embedded = [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
  return [alone, alone.replace(/=+$/, ''), ...embedded];
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Secrets that overlap go as one, so that no part of the one stays behind because the other was found first. */
function redactValues(text: string, values: readonly string[]): string {
  const spans = merged(values.flatMap((value) => occurrences(text, value)));
  if (spans.length === 0) return text;
  const kept = spans.map(({ start }, index) => text.slice(spans[index - 1]?.end ?? 0, start));
  return [...kept, text.slice(spans.at(-1)?.end)].join(REDACTED);
}

/** Each stretch of overlapping occurrences as one span; what touches an earlier redaction does not count. */
function occurrences(text: string, value: string): Span[] {
  const spans: Span[] = [];
  for (let start = text.indexOf(value); start !== -1; start = text.indexOf(value, start + 1)) {
    const end = start + value.length;
    const around = text.slice(Math.max(0, start - REDACTED.length + 1), end + REDACTED.length - 1);
    if (around.includes(REDACTED)) continue;
    const last = spans.at(-1);
    if (last !== undefined && start <= last.end) spans[spans.length - 1] = { start: last.start, end };
    else spans.push({ start, end });
  }
  return spans;
}

function merged(spans: Span[]): Span[] {
  const result: Span[] = [];
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last === undefined || span.start > last.end) result.push(span);
    else if (span.end > last.end) result[result.length - 1] = { start: last.start, end: span.end };
  }
  return result;
}

const PRIVATE_KEY = '[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----';
const KEY_BODY = String.raw`[A-Za-z0-9+/=\s\\]`;
const QUOTE = String.raw`[\\"']{0,4}`;
const ASSIGNED = String.raw`${QUOTE}\s{0,5}[:=]\s{0,5}${QUOTE}`;
const AWS_NAME = '(?:secret[_-]?access[_-]?key|aws[_-]?secret[_-]?key|aws[_-]?session[_-]?token)';
const CREDENTIAL = '[A-Za-z0-9._~+/=-]';

const TOKENS = [
  'sk-[A-Za-z0-9_-]{20,}', // OpenAI, and Anthropic as `sk-ant-`
  'gh[a-z]_[A-Za-z0-9]{30,}', // GitHub
  'github_pat_[A-Za-z0-9_]{22,}',
  '(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])', // AWS
  'AIza[A-Za-z0-9_-]{30,}', // Google
  'xox[a-z]-[A-Za-z0-9-]{10,}', // Slack
  '[rs]k_(?:live|test)_[A-Za-z0-9]{16,}', // Stripe
  'npm_[A-Za-z0-9]{30,}',
  'pypi-[A-Za-z0-9_-]{32,}',
  'hf_[A-Za-z0-9]{30,}', // Hugging Face
];

/**
 * Group 1 stays. Linear time: each pattern either ends within a bounded distance, or can start only once in the
 * characters that it scans. Idempotent: each ends where its characters end, so it uncovers no new start, and what
 * may contain `-`, `/` or `:` comes before what is looked for around them.
 */
const SHAPES: readonly RegExp[] = [
  new RegExp(`()-----BEGIN ${PRIVATE_KEY}${KEY_BODY}*(?:-----END ${PRIVATE_KEY})?`, 'g'),
  // The rest of a key whose beginning was cut off.
  new RegExp(`()(?<!${KEY_BODY})${KEY_BODY}+-----END ${PRIVATE_KEY}`, 'g'),
  new RegExp(`(${AWS_NAME}${ASSIGNED})[A-Za-z0-9/+=]{30,}`, 'gi'),
  new RegExp(String.raw`(authorization${ASSIGNED}(?:bearer|basic|token)\s{1,5})${CREDENTIAL}{4,}`, 'gi'),
  new RegExp(String.raw`((?<![A-Za-z0-9])bearer\s{1,5})${CREDENTIAL}{20,}`, 'gi'),
  // A password with `@` in it is common, one with `/` is no valid URL.
  /(:\/\/[^\s:/@"'`<>]*:)[^\s/"'`<>]+(?=@)/g,
  // A JSON Web Token.
  /()(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  new RegExp(`()(?<![A-Za-z0-9])(?:${TOKENS.join('|')})`, 'g'),
];

function redactShapes(text: string): string {
  return SHAPES.reduce((redacted, shape) => redacted.replace(shape, `$1${REDACTED}`), text);
}
