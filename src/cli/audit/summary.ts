type Told = Readonly<Record<string, unknown>>;

/** A record in a few words; not yet safe for a terminal. Pure. */
export function summaryOf(record: Told & { readonly type: string }): string {
  const { type } = record;
  return (SUMMARIES[type] ?? otherwise)(record);
}

const SUMMARIES: Readonly<Record<string, (record: Told) => string>> = {
  request: ({ surface, operation, language, code, parameters }) =>
    [surface, operation, language, code && `code ${short(code)}`, nameOf(parameters)]
      .filter(Boolean)
      .join(' '),
  finding: ({ line, name, message }) => `line ${line}: ${name} ${message}`,
  decision: ({ verdict, by, because }) => `${verdict} (${by}): ${because}`,
  started: ({ operation, runtime }) => `${operation} in ${runtime}`,
  ended: ({ operation, ok, outcome, exit_code: exitCode, duration, error }) => {
    const how =
      error === undefined
        ? [outcome, exitCode === undefined ? undefined : `with ${exitCode}`].filter(Boolean).join(' ')
        : (error as { code: string }).code;
    const time = typeof duration === 'number' ? `after ${duration.toFixed(3)} s` : '';
    return [operation, ok ? 'ok' : 'failed', how, time].filter(Boolean).join(' ');
  },
  network: ({ allowed, host, port, bytes_up: up, bytes_down: down }) =>
    `${allowed ? 'allowed' : 'refused'} ${host}:${port} (${up} bytes up, ${down} down)`,
  sandbox_created: ({ sandbox_id: id, runtime }) => `${id} in ${runtime}`,
  sandbox_ended: ({ sandbox_id: id, reason, message }) => `${id} ${reason}: ${message}`,
  log_repaired: ({ cut_bytes: bytes }) =>
    `${bytes} bytes of a record that was not written to its end were cut off`,
  log_continues: ({ file }) => `in ${file}`,
};

function otherwise(record: Told): string {
  const { seq: _seq, prev: _prev, hash: _hash, at: _at, type: _type, id: _id, ...told } = record;
  return JSON.stringify(told).slice(0, 200);
}

function short(code: unknown): string {
  return String((code as { sha256?: unknown }).sha256).slice(0, 12);
}

function nameOf(parameters: unknown): string {
  const { path, package: name, command } = (parameters ?? {}) as Told;
  return JSON.stringify(path ?? name ?? command) ?? '';
}
