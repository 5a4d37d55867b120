/** Where assistants keep their settings, and what these say for us. Pure. */
import { join } from 'node:path';

export const ASSISTANTS = ['claude', 'claude-desktop', 'cursor', 'vscode', 'codex'] as const;
export type Assistant = (typeof ASSISTANTS)[number];

/** How our server is started: by absolute paths, since a name could be anybody's package. */
export interface Start {
  readonly command: string;
  readonly args: readonly string[];
}

/** Where files of settings are looked for. */
export interface Places {
  readonly home: string;
  readonly folder: string;
  readonly platform: NodeJS.Platform;
}

export interface AssistantSettings {
  /** Of the assistant, for a person. */
  readonly title: string;
  readonly path: string;
  /** The member of a JSON file that holds the servers; absent where the file is TOML, which we do not change. */
  readonly servers?: string;
  /** What stands there under our name. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** Does the same by the assistant's own command, where it has one. */
  readonly ownCommand?: readonly string[];
}

/** What our entry is called. */
export const SERVER_NAME = 'glovebox';

export function settingsFor(
  assistant: Assistant,
  { command, args }: Start,
  places: Places,
): AssistantSettings {
  const { home, folder } = places;
  const entry = { command, args: [...args] };
  const typed = { type: 'stdio', ...entry };
  const add = ['mcp', 'add', SERVER_NAME, '--', command, ...args];
  switch (assistant) {
    case 'claude':
      return {
        ...{ title: 'Claude Code', path: join(folder, '.mcp.json'), servers: 'mcpServers', entry: typed },
        ownCommand: ['claude', ...add],
      };
    case 'claude-desktop':
      return { title: 'Claude Desktop', path: desktopPath(places), servers: 'mcpServers', entry };
    case 'cursor':
      return { title: 'Cursor', path: join(home, '.cursor', 'mcp.json'), servers: 'mcpServers', entry };
    case 'vscode':
      return {
        ...{ title: 'VS Code', path: join(folder, '.vscode', 'mcp.json'), servers: 'servers', entry: typed },
        ownCommand: ['code', '--add-mcp', JSON.stringify({ name: SERVER_NAME, ...entry })],
      };
    case 'codex':
      // Longer than ours for a person and for a program together.
      return {
        ...{ title: 'Codex', path: join(home, '.codex', 'config.toml') },
        entry: { ...entry, tool_timeout_sec: 300 },
        ownCommand: ['codex', ...add],
      };
  }
}

/** The settings as they are pasted. */
export function settingsText({ servers, entry }: AssistantSettings): string {
  if (servers !== undefined) return JSON.stringify({ [servers]: { [SERVER_NAME]: entry } }, null, 2);
  // A basic string of TOML is written as one of JSON.
  const lines = Object.entries(entry).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return [`[mcp_servers.${SERVER_NAME}]`, ...lines].join('\n');
}

/** A command line for a POSIX shell. */
export function shellLine(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w./:@=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}

function desktopPath({ home, platform }: Places): string {
  const folder = platform === 'darwin' ? join(home, 'Library', 'Application Support') : join(home, '.config');
  return join(folder, 'Claude', 'claude_desktop_config.json');
}
