import { SandboxError } from '../errors.ts';
import { isTooDeep, type LeftOut, TOO_DEEP, type TransferLimits } from './entry.ts';
import { printableName } from './printableName.ts';
import type { FoundEntry } from './readArchive.ts';

/** An entry whose name leads nowhere but down. */
export interface AcceptedEntry {
  /** One for each step down; empty only for a folder that is the top itself. */
  readonly components: readonly Buffer[];
  /** For people; no two names look alike. */
  readonly path: string;
  readonly type: 'file' | 'directory' | 'symlink';
  readonly executable: boolean;
  readonly modifiedAt: number;
  readonly size: number;
  readonly target: Buffer;
  readonly content: AsyncIterable<Uint8Array>;
}

export interface Acceptance extends TransferLimits {
  /** Symbolic links: taken as they are, or dealt with like all else that is neither file nor folder. */
  readonly links: boolean;
  /** Told what is neither file nor folder; without it, that is refused. */
  readonly onLeftOut?: (leftOut: LeftOut) => void;
}

/**
 * Lets through what may be unpacked: files, folders and, where they are wanted, symbolic links, with names that stay
 * below the top and lead through no link of the archive's own. Throws `INPUT_INVALID` or `PATH_OUTSIDE_WORKSPACE`
 * with the entry's name.
 */
export async function* acceptEntries(
  found: AsyncIterable<FoundEntry>,
  { links, onLeftOut, maxBytes, maxEntries }: Acceptance,
): AsyncGenerator<AcceptedEntry> {
  const linked = new Set<string>();
  let bytes = 0;
  let entries = 0;
  for await (const entry of found) {
    const { type } = entry;
    const components = componentsOf(entry.name);
    // The top itself is none of them; many archives begin with it.
    if ((components.length > 0 || entries > 0) && ++entries > maxEntries) throw tooMany(maxEntries);
    const path = components.map(printableName).join('/') || '.';
    if (isTooDeep(components.length, entry.name.length)) {
      if (onLeftOut === undefined) throw badName(path, `is ${TOO_DEEP}`);
      onLeftOut({ path, because: TOO_DEEP });
      continue;
    }
    const isWanted = type === 'file' || type === 'directory' || (type === 'symlink' && links);
    if (!isWanted) {
      const because = type === 'symlink' ? 'a symbolic link' : type;
      if (onLeftOut === undefined) throw notCarried(path, because);
      onLeftOut({ path, because });
      continue;
    }
    if (components.length === 0 && type !== 'directory') throw badName(path, 'names no file');
    if (linked.size > 0 && leadsThrough(linked, components)) throw throughLink(path);
    if (type === 'symlink') linked.add(keyOf(components));
    if (type === 'file') bytes += entry.size;
    if (bytes > maxBytes) throw tooMuch(maxBytes, path);
    const executable = (entry.mode & 0o100) !== 0;
    yield { ...entry, components, path, type, executable };
  }
}

const SLASH = 0x2f;

/** The steps down that a name takes. Pure. Throws where it is absolute, goes up, or is longer than any may be. */
export function componentsOf(name: Buffer): Buffer[] {
  const path = printableName(name);
  if (name.length === 0 || name.includes(0)) throw badName(path, 'is not a name');
  if (name[0] === SLASH) throw leadsOut(path, 'is absolute');
  const components: Buffer[] = [];
  for (let start = 0; start <= name.length; ) {
    const slash = name.indexOf(SLASH, start);
    const end = slash < 0 ? name.length : slash;
    const component = name.subarray(start, end);
    start = end + 1;
    const text = component.length <= 2 ? component.toString('latin1') : '';
    if (text === '..') throw leadsOut(path, 'goes up');
    if (component.length > 255) throw badName(path, 'has a component of more than 255 bytes');
    if (component.length > 0 && text !== '.') components.push(component);
  }
  return components;
}

function keyOf(components: readonly Buffer[]): string {
  return components.map((component) => component.toString('latin1')).join('/');
}

function leadsThrough(linked: ReadonlySet<string>, components: readonly Buffer[]): boolean {
  return components.some((_, length) => length > 0 && linked.has(keyOf(components.slice(0, length))));
}

function badName(path: string, because: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `The archive's entry ${short(path)} ${because}.`, {
    hint: 'Give an archive whose entries are relative paths.',
    details: { entry: path.slice(0, 1000) },
  });
}

function leadsOut(path: string, because: string): SandboxError {
  return new SandboxError('PATH_OUTSIDE_WORKSPACE', `The archive's entry ${short(path)} ${because}.`, {
    hint: 'Give an archive whose entries are paths below its top, without "..".',
    details: { entry: path.slice(0, 1000) },
  });
}

function throughLink(path: string): SandboxError {
  return new SandboxError(
    'PATH_OUTSIDE_WORKSPACE',
    `The archive's entry ${short(path)} leads through a link.`,
    {
      hint: 'Links are not followed; give an archive with folders in their place.',
      details: { entry: path.slice(0, 1000) },
    },
  );
}

function notCarried(path: string, what: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `The archive's entry ${short(path)} is ${what}.`, {
    hint:
      what === 'a symbolic link'
        ? 'Allow symbolic links where they are wanted, or leave them out: tar --dereference writes files instead.'
        : 'Only regular files and folders are unpacked; tar --hard-dereference writes hard links as files.',
    details: { entry: path.slice(0, 1000), what },
  });
}

/** The refusal of more bytes than are allowed. */
export function tooMuch(maxBytes: number, path: string): SandboxError {
  return new SandboxError(
    'INPUT_INVALID',
    `With ${short(path)} there are more than ${maxBytes} bytes to carry.`,
    {
      hint: 'Carry less at a time, or allow more with maxBytes.',
      details: { path: path.slice(0, 1000), maxBytes },
    },
  );
}

/** The refusal of more files and folders than are allowed. */
export function tooMany(maxEntries: number): SandboxError {
  return new SandboxError('INPUT_INVALID', `There are more than ${maxEntries} files and folders to carry.`, {
    hint: 'Carry less at a time, or allow more with maxEntries.',
    details: { maxEntries },
  });
}

function short(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}
