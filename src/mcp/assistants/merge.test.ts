import { describe, expect, it } from 'vitest';
import { ASSISTANTS, settingsFor, settingsText, shellLine } from './assistants.ts';
import { mergeSettings } from './merge.ts';

const START = { command: '/usr/bin/node', args: ['/a b/dist/cli/main.js', 'mcp'] };
const PLACES = { home: '/home/me', folder: '/project', platform: 'linux' } as const;
const CURSOR = settingsFor('cursor', START, PLACES);

describe('the settings of an assistant', () => {
  it('start the server by absolute paths, never by the name of a package', () => {
    for (const assistant of ASSISTANTS) {
      const settings = settingsFor(assistant, START, PLACES);
      expect(settings.entry).toMatchObject(START);
      expect(settingsText(settings)).not.toContain('npx');
    }
  });

  it('are TOML for Codex', () => {
    expect(settingsText(settingsFor('codex', START, PLACES))).toBe(
      `[mcp_servers.glovebox]
command = "/usr/bin/node"
args = ["/a b/dist/cli/main.js","mcp"]
tool_timeout_sec = 300`,
    );
  });

  it('are in the files where each assistant looks', () => {
    expect(ASSISTANTS.map((assistant) => settingsFor(assistant, START, PLACES).path)).toEqual([
      '/project/.mcp.json',
      '/home/me/.config/Claude/claude_desktop_config.json',
      '/home/me/.cursor/mcp.json',
      '/project/.vscode/mcp.json',
      '/home/me/.codex/config.toml',
    ]);
    expect(settingsFor('claude-desktop', START, { ...PLACES, platform: 'darwin' }).path).toBe(
      '/home/me/Library/Application Support/Claude/claude_desktop_config.json',
    );
  });

  it('are told as a command that a shell takes as it is', () => {
    expect(shellLine(['claude', 'a b', "it's", '$(x)'])).toBe(`claude 'a b' 'it'\\''s' '$(x)'`);
  });
});

describe('putting them into a file', () => {
  it('makes the file where there is none', () => {
    expect(mergeSettings(undefined, CURSOR)).toEqual({
      text: `${JSON.stringify({ mcpServers: { glovebox: CURSOR.entry } }, null, 2)}\n`,
      before: undefined,
      after: CURSOR.entry,
    });
  });

  it('keeps how its lines end', () => {
    const { text } = mergeSettings('{\r\n  "a": "\\n"\r\n}\r\n', CURSOR);
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(text.startsWith('{\r\n  "a": "\\n",\r\n')).toBe(true);
    expect(mergeSettings('{\n  "a": "\\r"\n}\n', CURSOR).text).not.toContain('\r');
  });

  it('keeps everything else, how it is indented, and what else our entry says', () => {
    const text = `{
\t"theme": "dark",
\t"mcpServers": {
\t\t"other": { "command": "x" },
\t\t"glovebox": { "command": "old", "env": { "A": "b" } }
\t},
\t"last": [1]
}`;
    const { text: written, before, after } = mergeSettings(text, CURSOR);
    expect(JSON.parse(written)).toEqual({
      theme: 'dark',
      mcpServers: { other: { command: 'x' }, glovebox: { env: { A: 'b' }, ...CURSOR.entry } },
      last: [1],
    });
    expect(Object.keys(JSON.parse(written))).toEqual(['theme', 'mcpServers', 'last']);
    expect(written).toMatch(/^\{\n\t"theme"/);
    expect(before).toEqual({ command: 'old', env: { A: 'b' } });
    expect(after).toEqual({ env: { A: 'b' }, ...CURSOR.entry });
  });

  it.each([
    ['comments', '{ // mine\n}'],
    ['no object', '[]'],
    ['servers that are no object', '{"mcpServers": []}'],
    ['half a file', '{"mcpServers": {'],
  ])('refuses a file with %s', (_name, text) => {
    expect(() => mergeSettings(text, CURSOR)).toThrow(/was left as it is/);
  });
});
