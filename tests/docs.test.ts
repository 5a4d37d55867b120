import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { whatHolds } from '../scripts/what-holds.ts';
import { CONFIG_VARIABLE, MCP_TOKEN_VARIABLE } from '../src/config/environment.ts';
import { SETTING_KEYS, type SettingKey, settingOf } from '../src/config/settings.ts';
import { ERROR_CODES, type ErrorCode } from '../src/errors.ts';

/** Docker's own, which are not ours to set. */
const VARIABLES_OF_DOCKER = ['DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG', 'DOCKER_BUILDKIT'];

const ROOT = resolve(import.meta.dirname, '..');

const documents = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
].map((name) => ({ name, text: read(name) }));

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'errors.ts')
  .map((name) => read(join('src', name)));

function read(name: string): string {
  return readFileSync(join(ROOT, name), 'utf8');
}

/** What this pattern's first group finds in each document, as `document: finding`, where the finding is wrong. */
function wrongIn(pattern: RegExp, isWrong: (found: string, document: string) => boolean): string[] {
  return documents.flatMap(({ name, text }) =>
    [...text.matchAll(pattern)]
      .map(([whole, group]) => group ?? whole)
      .filter((found) => isWrong(found, name))
      .map((found) => `${name}: ${found}`),
  );
}

describe('the documents', () => {
  it('link only to what is there', () => {
    const wrong = wrongIn(/\]\((?!https?:)([^)\s]+)\)/g, (link, document) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? join(ROOT, document) : join(dirname(join(ROOT, document)), path);
      if (!existsSync(target)) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
    });
    expect(wrong).toEqual([]);
  });

  it('are all reached from the README', () => {
    const reached = new Set(['README.md']);
    for (const document of reached) {
      for (const [, link = ''] of read(document).matchAll(/\]\((?!https?:|#)([^)\s#]+\.md)/g)) {
        reached.add(relative(ROOT, join(ROOT, dirname(document), link)));
      }
    }
    const unreached = documents.map(({ name }) => name).filter((name) => !reached.has(name));
    expect(unreached).toEqual([]);
  });

  it('name only files and folders of this repository that are there', () => {
    const named = /(?<![\w./-])((?:src|tests|scripts|bench|examples|\.ci)\/[\w./-]*\w)/g;
    expect(wrongIn(named, (path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('say what holds where as the drivers do (npm run what-holds)', () => {
    expect(read('docs/what-holds.md')).toBe(whatHolds());
  });

  it('name only variables that mean something', () => {
    const known = new Set<string>([
      ...SETTING_KEYS.flatMap((key) => settingOf(key).variable ?? []),
      ...Object.keys(ERROR_CODES),
      CONFIG_VARIABLE,
      MCP_TOKEN_VARIABLE,
      ...VARIABLES_OF_DOCKER,
    ]);
    expect(wrongIn(/\b((?:SANDBOX|GLOVEBOX|DOCKER|GVISOR)_[A-Z_]+)\b/g, (name) => !known.has(name))).toEqual(
      [],
    );
  });

  it('hold no address of a registry and no path of a machine, and install nothing by our name', () => {
    const forbidden = [
      /registry\.(?!ts\b)[\w-]+|npmjs|npmmirror|pypi\.org|pythonhosted|docker\.io|ghcr\.io|unpkg|artifactory/gi,
      /\/(?:work|root|home\/\w+)\//g,
      /(?:npm (?:i|install|add|exec)|npx -y|pnpm add|yarn add|bun add)[^\n`&]* glovebox\b/g,
    ];
    expect(forbidden.flatMap((pattern) => wrongIn(pattern, () => true))).toEqual([]);
  });

  it('tag every code block with a language', () => {
    for (const { name, text } of documents) {
      const fences = [...text.matchAll(/^ *```(.*)$/gm)].map(([, info]) => info);
      const untagged = fences.filter((info, index) => index % 2 === 0 && info === '');
      expect({ name, even: fences.length % 2, untagged }).toEqual({ name, even: 0, untagged: [] });
    }
  });
});

describe('docs/settings.md', () => {
  it.each(SETTING_KEYS)('has %s with its default', (key) => {
    const { variable = 'none', name } = settingOf(key);
    const [row = []] = rows('docs/settings.md').filter((cells) => cells[1] === name);
    expect(row.slice(0, 3)).toEqual([variable, name, defaultOf(key)]);
  });

  it('names every other name of a key', () => {
    const aliases = SETTING_KEYS.flatMap((key) => {
      const { name, alias } = settingOf(key);
      return alias === undefined ? [] : [[alias.name, name]];
    });
    const told = rows('docs/settings.md').map((cells) => cells.slice(0, 2));
    expect(told).toEqual(expect.arrayContaining(aliases));
  });
});

describe('README.md', () => {
  it.each(SETTING_KEYS.filter((key) => settingOf(key).variable !== undefined && key !== 'blockedImports'))(
    'has the default of %s',
    (key) => {
      const { variable } = settingOf(key);
      const [row = []] = rows('README.md').filter((cells) => cells[0] === variable);
      expect(row.slice(0, 2)).toEqual([variable, defaultOf(key)]);
    },
  );
});

describe('docs/troubleshooting.md', () => {
  it('quotes messages as the sources have them', () => {
    // A literal that goes on in the next line, the quotes in it, and a value in it.
    const said = sources.map((source) =>
      source
        .replace(/' \+\s+'/g, '')
        .replace(/\\'/g, "'")
        .replace(/\$\{.*?\}/g, '…'),
    );
    const quoted = [
      ...read('docs/troubleshooting.md').matchAll(/^```text message\n([\s\S]*?)^```$/gm),
    ].flatMap(([, block = '']) => block.trim().split('\n'));
    const unsaid = quoted.filter((line) => !said.some((source) => source.includes(line)));
    expect({ found: quoted.length > 10, unsaid }).toEqual({ found: true, unsaid: [] });
  });
});

describe('docs/errors.md', () => {
  it('has each code that is thrown, and no other', () => {
    const thrown = (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) =>
      sources.some((source) => source.includes(`'${code}'`)),
    );
    const told = [...read('docs/errors.md').matchAll(/^## (.+)$/gm)].map(([, code]) => code);
    expect(told.sort()).toEqual(thrown.sort());
  });
});

describe('docs/cli.md', () => {
  it('has every option and every command', () => {
    const main = read('src/cli/main.ts') + read('src/cli/sandbox/commands.ts');
    const options = [...main.matchAll(/(--[a-z-]+)(?= ?[<[',])/g)].map(([, option]) => option);
    const commands = [...main.matchAll(/\.command\('([a-z-]+)'\)/g)].map(([, command]) => command);
    const text = read('docs/cli.md');
    const untold = [...options, ...commands].filter((word) => !text.includes(String(word)));
    expect({ found: options.length > 15 && commands.length >= 5, untold }).toEqual({
      found: true,
      untold: [],
    });
  });
});

describe('docs/results.md', () => {
  it('has every field', () => {
    const json = read('src/result/resultJson.ts');
    const fields = [...json.matchAll(/^ {4}([a-z_]+):/gm)].map(([, field]) => field);
    const text = read('docs/results.md');
    const untold = fields.filter((field) => !text.includes(`\`${field}\``));
    expect({ found: fields.length > 30, untold }).toEqual({ found: true, untold: [] });
  });
});

/** The cells of every row of a document's tables, without the marks of code around a cell. */
function rows(document: string): string[][] {
  return read(document)
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replace(/^`([^`]*)`/, '$1')),
    );
}

function defaultOf(key: SettingKey): string {
  const value = settingOf(key).default;
  if (Array.isArray(value) && value.length === 0) return 'empty';
  return value === undefined ? 'unset' : String(value);
}

/** The anchors of a document's headings, as they are made for the web. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\s-]/gu, '')
      .trim()
      .replace(/\s/g, '-'),
  );
}
