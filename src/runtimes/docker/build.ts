import type { ArchiveEntry } from '../../archive/entry.ts';
import { writeArchive } from '../../archive/writeArchive.ts';
import { SandboxError } from '../../errors.ts';
import { packageVersion } from '../../version.ts';
import { type BuildLine, buildLines } from './buildLog.ts';
import { type Engine, EngineError, isNotFound } from './engine.ts';

/** A file of a build's context. */
export interface ContextFile {
  readonly name: string;
  readonly mode: 0o644 | 0o755;
  readonly size: number;
  /** Exactly `size` bytes. */
  readonly content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

export interface ImageBuild {
  /** What the image is called then. */
  readonly tag: string;
  /** `Dockerfile` and what it copies. */
  readonly context: readonly ContextFile[];
  readonly buildArguments: Readonly<Record<string, string>>;
  /** Told each line of the log as it comes. */
  readonly onLine?: (line: BuildLine) => void;
  readonly signal?: AbortSignal;
}

/** An image as the engine keeps it. */
export interface StoredImage {
  readonly id: string;
  readonly sizeBytes: number;
}

/**
 * Builds an image by the engine's own builder, the classic one, which every engine has. Throws what the log says
 * went wrong; a build that is cancelled, or whose process dies, is ended by the engine.
 */
export async function buildImage(engine: Engine, build: ImageBuild): Promise<StoredImage> {
  try {
    const log = await engine.stream('POST', buildPath(build), {
      upload: writeArchive(build.context.map(asEntry)),
      // Nobody knows how long a step says nothing.
      deadlineMs: 0,
      ...(build.signal === undefined ? {} : { signal: build.signal }),
    });
    for await (const line of buildLines(log)) build.onLine?.(line);
  } catch (error) {
    build.signal?.throwIfAborted();
    if (!(error instanceof EngineError)) throw error;
    throw new SandboxError('INPUT_INVALID', `The engine does not take this build: ${error.message}`, {
      hint: 'A name is like glovebox-sandbox:latest: lower case, without spaces.',
      details: { tag: build.tag },
      cause: error,
    });
  }
  return storedImage(engine, build.tag);
}

function asEntry({ name, mode, size, content }: ContextFile): ArchiveEntry {
  return { name: Buffer.from(name), type: 'file', executable: mode === 0o755, size, content };
}

/** The image of this name. Rejects with the engine's answer where there is none. */
async function storedImage(engine: Engine, name: string): Promise<StoredImage> {
  const { Id, Size } = await engine.call<{ Id: string; Size: number }>(
    'GET',
    `/images/${encodeURIComponent(name)}/json`,
  );
  return { id: Id, sizeBytes: Size };
}

/** The request of a build, but for its context. Pure. */
export function buildPath({ tag, buildArguments }: Pick<ImageBuild, 'tag' | 'buildArguments'>): string {
  const query = new URLSearchParams({
    // Not BuildKit, which needs a second connection and is not everywhere.
    version: '1',
    t: tag,
    rm: '1',
    forcerm: '1',
    buildargs: JSON.stringify(buildArguments),
    labels: JSON.stringify({ 'io.glovebox.version': packageVersion() }),
  });
  return `/build?${query}`;
}

/**
 * What the engine is to start from: the image's id, so that it cannot be another one than was looked at, and never
 * pulls. Throws `RUNTIME_UNAVAILABLE` with the command that brings it, unless it may be pulled.
 */
export async function findBase(
  engine: Engine,
  base: string,
  { mayPull, makeBase }: { readonly mayPull: boolean; readonly makeBase: string },
): Promise<string> {
  try {
    const { id } = await storedImage(engine, base);
    return id.replace(/^sha256:/, '');
  } catch (error) {
    if (!isNotFound(error)) throw error;
    if (mayPull) return base;
    throw new SandboxError(
      'RUNTIME_UNAVAILABLE',
      `There is no image ${base} on this engine to start from, and nothing is pulled silently.`,
      {
        hint: `Run: docker pull ${base} (or add --pull). Without a registry: ${makeBase} makes a base from Debian packages.`,
        details: { image: base },
        cause: error,
      },
    );
  }
}
