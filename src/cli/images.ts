import { loadSettings } from '../config/index.ts';
import { type BuiltImage, buildImage } from '../operations/buildImage.ts';
import type { BuildLine } from '../runtimes/docker/buildLog.ts';
import { cancellable } from './cancel.ts';
import { forTerminal } from './terminal.ts';

export interface BuildFlags {
  readonly base?: string;
  readonly packages?: string;
  readonly tag?: string;
  readonly node?: string;
  readonly pull?: boolean;
  readonly json?: boolean;
  readonly config?: string;
}

/** Builds the image of the runtime `docker`; resolves to the exit status. */
export async function buildImages({ packages, json = false, config, ...flags }: BuildFlags): Promise<number> {
  const loaded = await loadSettings(config === undefined ? {} : { configFile: config, overrideKind: 'flag' });
  const progress = process.stderr.isTTY ? new TerminalProgress() : new PlainProgress();
  return cancellable(async (signal) => {
    try {
      const image = await buildImage({
        loaded,
        ...flags,
        ...(packages === undefined ? {} : { packages: { python: splitPackages(packages) } }),
        onLine: (line) => progress.show(line),
        signal,
      });
      progress.end();
      process.stdout.write(`${json ? JSON.stringify(asJson(image)) : describe(image)}\n`);
      return 0;
    } catch (error) {
      progress.end();
      if (!signal.aborted) progress.explain();
      throw error;
    }
  });
}

/** Commas between packages; those between the extras or the versions of one are its own. */
function splitPackages(list: string): string[] {
  return list
    .split(/,(?![^[\]]*\]|\s*[<>=!~])/)
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function describe({ tag, id, sizeMb, interpreters }: BuiltImage): string {
  const inside = [...interpreters].map(([language, { version }]) => `${language} ${version}`).join(', ');
  return forTerminal(`${tag} (${id.slice(0, 'sha256:'.length + 12)}, ${sizeMb} MB): ${inside}`);
}

function asJson({ tag, id, sizeMb, interpreters }: BuiltImage): object {
  return { tag, id, size_mb: sizeMb, interpreters: Object.fromEntries(interpreters) };
}

/** How much of a line is shown: a step of a Dockerfile can be very long. */
const LINE_LENGTH = 200;

/** Every line as it comes, for a log. */
class PlainProgress {
  show({ kind, text }: BuildLine): void {
    if (kind !== 'progress' && text !== '') process.stderr.write(`${shortened(text, LINE_LENGTH)}\n`);
  }

  end(): void {}

  /** All has been said. */
  explain(): void {}
}

/** A line for each step, and below the last one what it says at the moment. */
class TerminalProgress {
  #said: string[] = [];

  show({ kind, text }: BuildLine): void {
    const line = shortened(text, (process.stderr.columns || 80) - 3);
    if (kind === 'step') this.#said = [];
    if (kind === 'output' && text !== '') this.#said.push(text);
    process.stderr.write(kind === 'step' ? `${CLEAR}${line}\n` : `${CLEAR}  ${line}`);
  }

  end(): void {
    process.stderr.write(CLEAR);
  }

  /** What the last step said, which has been overwritten. */
  explain(): void {
    for (const line of this.#said) process.stderr.write(`  ${forTerminal(line)}\n`);
  }
}

/** To the beginning of the line, and nothing after it. */
const CLEAR = '\r\x1b[K';

function shortened(text: string, length: number): string {
  const safe = forTerminal(text);
  return safe.length > length ? `${safe.slice(0, length - 1)}…` : safe;
}
