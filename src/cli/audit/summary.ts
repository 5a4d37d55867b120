type Told = Readonly<Record<string, unknown>>;

/** A record in a few words; not yet safe for a terminal. Pure. */
export function summaryOf(record: Told & { readonly type: string }): string {
  const summary = Object.hasOwn(SUMMARIES, record.type) ? SUMMARIES[record.type] : undefined;
  return (summary ?? otherwise)(record);
}

/** What stands in a log may have been written by anybody: each field may be anything. */
const SUMMARIES: Readonly<Record<string, (record: Told) => string>> = {
  request: ({ surface, operation, language, code, parameters }) =>
    words(surface, operation, language, code && `code ${short(code)}`, nameOf(parameters)),
  finding: ({ line, name, message }) => `line ${text(line)}: ${text(name)} ${text(message)}`,
  decision: ({ verdict, by, because }) => `${text(verdict)} (${text(by)}): ${text(because)}`,
  started: ({ operation, runtime }) => `${text(operation)} in ${text(runtime)}`,
  ended: ({ operation, ok, outcome, exit_code: exitCode, duration, error }) => {
    const how =
      error === undefined
        ? words(outcome, exitCode === undefined ? undefined : `with ${text(exitCode)}`)
        : fieldsOf(error)['code'];
    const time = typeof duration === 'number' ? `after ${duration.toFixed(3)} s` : '';
    return words(operation, ok ? 'ok' : 'failed', how, time);
  },
  network: ({ allowed, host, port }) => `${allowed ? 'allowed' : 'refused'} ${text(host)}:${text(port)}`,
  network_closed: ({ host, port, bytes_up: up, bytes_down: down }) =>
    `${text(host)}:${text(port)} (${text(up)} bytes up, ${text(down)} down)`,
  sandbox_created: ({ sandbox_id: id, runtime }) => `${text(id)} in ${text(runtime)}`,
  sandbox_ended: ({ sandbox_id: id, reason, message }) => `${text(id)} ${text(reason)}: ${text(message)}`,
  log_repaired: ({ cut_bytes: bytes, missing, changed, unnoted }) =>
    [
      bytes === 0 ? '' : `${text(bytes)} bytes of a record that was not written to its end were cut off`,
      missing === undefined ? '' : 'records that were noted are not there any more',
      changed === undefined ? '' : 'the last record is another one than was noted',
      unnoted === undefined ? '' : 'where the log ended was not noted',
    ]
      .filter(Boolean)
      .join('; '),
  log_continues: ({ file }) => `in ${text(file)}`,
};

function otherwise(record: Told): string {
  const { seq: _seq, prev: _prev, hash: _hash, at: _at, type: _type, id: _id, ...told } = record;
  return JSON.stringify(told).slice(0, 200);
}

function short(code: unknown): string {
  return text(fieldsOf(code)['sha256']).slice(0, 12);
}

function nameOf(parameters: unknown): string {
  const { path, package: name, command } = fieldsOf(parameters);
  return JSON.stringify(path ?? name ?? command) ?? '';
}

/** Those that say something, as a sentence. */
function words(...all: readonly unknown[]): string {
  return all.filter(Boolean).map(text).join(' ');
}

function fieldsOf(value: unknown): Told {
  return typeof value === 'object' && value !== null ? (value as Told) : {};
}

/** A field in a line of text, whatever it is. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
