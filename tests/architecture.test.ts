import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../src');

/**
 * Who may import whom: each folder names all that it may use besides itself, `errors.ts`, `version.ts` and
 * `bell.ts`, which everybody may. What is not named is not allowed.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  policy: [],
  languages: [],
  archive: [],
  files: [],
  runtimes: ['archive', 'policy', 'languages'],
  result: ['egress', 'policy', 'languages', 'runtimes'],
  gate: ['files', 'languages', 'policy', 'result'],
  audit: ['files', 'result'],
  sandbox: ['archive', 'egress', 'files', 'languages', 'policy', 'result', 'runtimes'],
  config: ['egress', 'files', 'languages', 'policy'],
  egress: ['policy', 'runtimes'],
  operations: [
    'archive',
    'audit',
    'config',
    'egress',
    'gate',
    'languages',
    'policy',
    'result',
    'runtimes',
    'sandbox',
  ],
  web: [],
  keys: ['config', 'files'],
  contract: ['archive', 'languages', 'policy', 'result', 'runtimes', 'sandbox'],
  agent: ['files', 'gate', 'operations'],
  mcp: ['operations', 'result', 'web'],
  console: ['operations', 'result'],
  http: [
    'config',
    'console',
    'files',
    'keys',
    'languages',
    'operations',
    'policy',
    'result',
    'runtimes',
    'web',
  ],
  client: ['archive', 'languages', 'operations', 'policy', 'result', 'runtimes', 'sandbox'],
  bench: ['config', 'languages', 'operations', 'result', 'runtimes'],
  cli: [
    'agent',
    'bench',
    'config',
    'contract',
    'console',
    'files',
    'http',
    'keys',
    'languages',
    'mcp',
    'operations',
    'policy',
    'result',
    'runtimes',
    'web',
  ],
  '.': [
    'client',
    'config',
    'egress',
    'gate',
    'languages',
    'operations',
    'policy',
    'result',
    'runtimes',
    'sandbox',
  ],
};

/** What only some folders may use, since loading it costs every start that does not need it. */
const LAZY_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  commander: ['cli'],
  '@anthropic-ai/sandbox-runtime': ['bench'],
  'cli-table3': ['cli'],
  'cli-progress': ['cli'],
  hono: ['cli', 'console', 'http', 'mcp', 'web'],
  '@hono/zod-openapi': ['http'],
  pino: ['http'],
  'prom-client': ['http'],
  '@opentelemetry/api': ['http'],
  '@opentelemetry/sdk-trace-node': ['http'],
  '@opentelemetry/exporter-trace-otlp-http': ['http'],
  'eventsource-parser': ['client'],
  '@hono/node-server': ['cli', 'http', 'web'],
  'rate-limiter-flexible': ['console', 'keys'],
  zod: ['agent', 'client', 'console', 'http', 'keys', 'mcp', 'operations', 'result'],
  yaml: ['config'],
  acorn: ['agent', 'gate', 'languages'],
  '@lezer/python': ['gate'],
  '@lezer/common': ['gate'],
  'fastest-levenshtein': ['config'],
  'tar-stream': ['archive'],
  diff: ['operations'],
  ai: ['agent'],
  '@ai-sdk/anthropic': ['agent'],
  '@ai-sdk/google': ['agent'],
  '@ai-sdk/openai': ['agent'],
  '@ai-sdk/openai-compatible': ['agent'],
  '@langchain/core': ['agent'],
  '@modelcontextprotocol/client': ['agent'],
  '@modelcontextprotocol/server': ['mcp'],
};

/** What drivers have in common, below `runtimes/`. */
const SHARED = ['host', 'relay'];

interface Import {
  readonly file: string;
  readonly folder: string;
  readonly target: string;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => join(SRC, name));

function folderOf(file: string): string {
  const [first = '', ...rest] = relative(SRC, file).split('/');
  return rest.length === 0 ? '.' : first;
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, target = '']) => target);
}

const imports: Import[] = files.flatMap((file) =>
  importsOf(file).map((target) => ({ file: relative(SRC, file), folder: folderOf(file), target })),
);

describe('the house', () => {
  it('has a rule for every folder, and no rule for a folder that is gone', () => {
    expect(Object.keys(MAY_IMPORT).sort()).toEqual([...new Set(files.map(folderOf))].sort());
  });

  it('imports only downwards', () => {
    const wrong = imports.filter(({ file, folder, target }) => {
      if (!target.startsWith('.')) return false;
      const resolved = resolve(SRC, dirname(file), target);
      if (['errors.ts', 'version.ts', 'bell.ts'].includes(relative(SRC, resolved))) return false;
      const goal = folderOf(resolved);
      return goal !== folder && !MAY_IMPORT[folder]?.includes(goal);
    });
    expect(wrong).toEqual([]);
  });

  it('keeps drivers apart: only local builds on another one', () => {
    const wrong = imports.filter(({ file, target }) => {
      const driver = /^runtimes\/([^/]+)\//.exec(file)?.[1];
      if (driver === undefined || !target.startsWith('.')) return false;
      const goal = /^runtimes\/([^/]+)\//.exec(relative(SRC, resolve(SRC, dirname(file), target)))?.[1];
      if (goal === undefined || goal === driver || SHARED.includes(goal)) return false;
      return !(driver === 'local' && goal === 'bubblewrap');
    });
    expect(wrong).toEqual([]);
  });

  it('loads packages only where they are needed', () => {
    const wrong = imports.filter(
      ({ folder, target }) => target in LAZY_PACKAGES && !LAZY_PACKAGES[target]?.includes(folder),
    );
    expect(wrong).toEqual([]);
  });

  it('reads the environment and the command line in config, and where a host program must be found', () => {
    const readers = files
      .filter((file) => /process\.(env|argv)\b/.test(readFileSync(file, 'utf8')))
      .map((file) => relative(SRC, file));
    expect(readers.sort()).toEqual([
      'cli/main.ts',
      'cli/sandbox/here.ts',
      // The folder and the surroundings that it was started for.
      'cli/sandboxHost/main.ts',
      // As pip and npm find theirs.
      'config/hostRegistries.ts',
      'config/load.ts',
      // Plants a canary there, to see that it stays outside.
      'contract/clauses/input.ts',
      // Only as names that a program may use.
      'gate/javascript/names.ts',
      // Only in the text of a program that runs inside.
      'languages/installers/npm.ts',
      // As Docker's own command line finds its engine.
      'runtimes/docker/endpoint.ts',
      'runtimes/host/cache.ts',
      'runtimes/host/executables.ts',
      'runtimes/host/interpreters.ts',
      'runtimes/local/plain.ts',
    ]);
  });
});
