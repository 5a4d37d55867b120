import type { Readable } from 'node:stream';

/** What bubblewrap, or the launcher before it, says on its status descriptor. */
export interface Status {
  /** Resolves to true when the launcher waits for its orders, to false when it ended before. */
  readonly ready: Promise<boolean>;
  /** The sandbox's init process, in the host's numbers; undefined when it never came to be. */
  readonly started: Promise<number | undefined>;
  /** The program's exit code; undefined when the isolation ended before the program did. */
  readonly exitCode: Promise<number | undefined>;
  /** Why the launcher gave up; undefined when it did not. */
  readonly failure: Promise<string | undefined>;
}

/** Reads the status descriptor to its end. bubblewrap writes one JSON document after another, over several lines. */
export function readStatus(stream: Readable): Status {
  let text = '';
  let resolveReady: (ready: boolean) => void = () => {};
  const ready = new Promise<boolean>((resolve) => {
    resolveReady = resolve;
  });
  let resolveStarted: (pid: number | undefined) => void = () => {};
  const started = new Promise<number | undefined>((resolve) => {
    resolveStarted = resolve;
  });
  const whole = new Promise<string>((resolve) => {
    stream.on('data', (chunk) => {
      text += String(chunk);
      if (text.includes('"ready":true')) resolveReady(true);
      const pid = /"child-pid": *(\d+)\D/.exec(text)?.[1];
      if (pid !== undefined) resolveStarted(Number(pid));
    });
    stream.once('close', () => resolve(text));
    stream.once('error', () => resolve(text));
  });
  void whole.then(() => {
    resolveReady(false);
    resolveStarted(undefined);
  });
  return {
    ready,
    started,
    exitCode: whole.then((all) => {
      const code = /"exit-code": *(\d+)\D/.exec(all)?.[1];
      return code === undefined ? undefined : Number(code);
    }),
    failure: whole.then((all) => /"failed":"([^"]*)"/.exec(all)?.[1]),
  };
}
