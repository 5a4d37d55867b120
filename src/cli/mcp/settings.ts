import { isUtf8 } from 'node:buffer';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { isSandboxError, SandboxError } from '../../errors.ts';
import {
  type Assistant,
  type AssistantSettings,
  settingsFor,
  settingsText,
  shellLine,
} from '../../mcp/assistants/assistants.ts';
import { mergeSettings, unusable } from '../../mcp/assistants/merge.ts';
import { packageFile } from '../../version.ts';
import { forTerminal, linesForTerminal } from '../terminal.ts';

export interface SettingsFlags {
  readonly write?: boolean;
}

/** Prints the settings for an assistant, or puts them into its file. `flags` are those that the server is started with. */
export function assistantSettings(
  assistant: Assistant,
  flags: readonly string[],
  { write = false }: SettingsFlags,
): void {
  const start = { command: process.execPath, args: [packageFile('dist/cli/main.js'), 'mcp', ...flags] };
  const { platform } = process;
  const settings = settingsFor(assistant, start, { home: homedir(), folder: process.cwd(), platform });
  if (write) putInto(settings);
  else print(settings);
}

/** The settings alone on standard output, so that they can be passed on. */
function print(settings: AssistantSettings): void {
  const { title, path, ownCommand } = settings;
  process.stderr.write(`For ${title}, in ${forTerminal(path)}:\n`);
  process.stdout.write(`${settingsText(settings)}\n`);
  if (ownCommand !== undefined) process.stderr.write(`Or run: ${forTerminal(shellLine(ownCommand))}\n`);
}

function putInto(settings: AssistantSettings): void {
  const { title, path, servers, ownCommand = [] } = settings;
  if (servers === undefined) {
    throw new SandboxError('INPUT_INVALID', `The settings of ${title} are not written by Glovebox.`, {
      hint: `Run: ${shellLine(ownCommand)}`,
    });
  }
  const { text, before, after } = mergeSettings(
    onDisk(path, () => readIfThere(path)),
    settings,
  );
  if (JSON.stringify(before) === JSON.stringify(after)) {
    process.stdout.write(`${forTerminal(path)} says so already.\n`);
    return;
  }
  process.stdout.write(`${forTerminal(path)}, in ${servers}:\n${difference(before, after)}`);
  onDisk(path, () => replace(path, text));
  process.stdout.write(`Written. Start ${title} anew to use it.\n`);
}

function difference(before: unknown, after: unknown): string {
  return [...(before === undefined ? [] : marked('-', before)), ...marked('+', after)].join('');
}

function marked(mark: string, value: unknown): string[] {
  const text = linesForTerminal(JSON.stringify({ glovebox: value }, null, 2));
  return text
    .split('\n')
    .slice(1, -1)
    .map((line) => `${mark} ${line}\n`);
}

/** What the disk refuses is told of the file, which is as it was. */
function onDisk<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isSandboxError(error)) throw error;
    throw unusable(path, (error as Error).message);
  }
}

function readIfThere(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  const bytes = readFileSync(path);
  // What is replaced on the way in would be lost on the way out.
  if (!isUtf8(bytes)) throw unusable(path, 'it is not written in UTF-8');
  return bytes.toString();
}

/** Whole or not at all; a link to it stays a link, and its mode stays. */
function replace(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const there = statSync(path, { throwIfNoEntry: false });
  // It could be replaced all the same; somebody does not want that.
  if (there !== undefined && (there.mode & 0o222) === 0) throw unusable(path, 'it may only be read');
  const real = there === undefined ? path : realpathSync(path);
  const part = `${real}.glovebox-${process.pid}`;
  try {
    // What such a file holds may be secret: tokens of other servers.
    writeFileSync(part, text, { flag: 'wx', mode: 0o600 });
    if (there !== undefined) chmodSync(part, there.mode & 0o777);
    renameSync(part, real);
  } finally {
    rmSync(part, { force: true });
  }
}
