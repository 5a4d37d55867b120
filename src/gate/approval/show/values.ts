/** Nested values as indented rows, one for each. Pure, and as deep as the values are. */

/** One row of text, not yet made visible; `quoted` is a line of a text that has several. */
export interface ValueRow {
  readonly depth: number;
  readonly text: string;
  readonly isQuoted: boolean;
}

interface Task {
  readonly depth: number;
  /** Null for an entry of a list. */
  readonly name: string | null;
  readonly value: unknown;
}

/** The rows of an object's entries, as they are hashed: what JSON leaves out is left out here too. */
export function valueRows(values: Readonly<Record<string, unknown>>): ValueRow[] {
  const rows: ValueRow[] = [];
  // The values are not ours, so neither is their depth: no recursion.
  const tasks = entriesOf(JSON.parse(JSON.stringify(values)), 0).reverse();
  for (let task = tasks.pop(); task !== undefined; task = tasks.pop()) {
    const { depth, value } = task;
    const inner = typeof value === 'object' && value !== null ? entriesOf(value, depth + 1) : [];
    for (const row of rowsOf(task, inner.length === 0)) rows.push(row);
    for (const entry of inner.reverse()) tasks.push(entry);
  }
  return rows;
}

function entriesOf(value: object, depth: number): Task[] {
  if (Array.isArray(value)) return value.map((entry: unknown) => ({ depth, name: null, value: entry }));
  return Object.entries(value).map(([name, entry]) => ({ depth, name, value: entry }));
}

function rowsOf({ depth, name, value }: Task, isLeaf: boolean): ValueRow[] {
  const label = name === null ? '-' : `${isWord(name) ? name : JSON.stringify(name)}:`;
  if (!isLeaf) return [row(depth, label)];
  if (typeof value !== 'string' || !value.includes('\n')) return [row(depth, `${label} ${leaf(value)}`)];
  const lines = value.split('\n');
  return [
    row(depth, `${label} a text of ${lines.length} lines`),
    ...lines.map((text) => ({ depth: depth + 1, text, isQuoted: true })),
  ];
}

/** The last thing on its row, so that a quotation mark in a text ends nothing. */
function leaf(value: unknown): string {
  if (typeof value === 'string') return `"${value}"`;
  if (Array.isArray(value)) return '(none)';
  return typeof value === 'object' && value !== null ? '(empty)' : String(value);
}

function isWord(name: string): boolean {
  return /^[\w.-]{1,200}$/.test(name);
}

function row(depth: number, text: string): ValueRow {
  return { depth, text, isQuoted: false };
}
