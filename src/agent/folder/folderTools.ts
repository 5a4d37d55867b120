import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { SandboxError } from '../../errors.ts';
import type { ObjectSchema } from '../agentTool.ts';
import type { ForeignResult, ForeignTool } from '../foreignTool.ts';
import { type DocumentedFunction, documentedFunctions } from './documentedFunctions.ts';

export interface FolderTools {
  readonly tools: readonly ForeignTool[];
  /** What was left out, and why: whole sentences. */
  readonly warnings: readonly string[];
}

/**
 * Makes a tool of each documented function that a file of the folder exports. The files are loaded into this process and run
 * here, outside of any sandbox. Throws `CONFIG_INVALID` for a folder or a file that cannot be used.
 */
export async function folderTools(folder: string): Promise<FolderTools> {
  const names = namesIn(folder);
  const found = names
    .filter((name) => /\.m?js$/.test(name))
    .map((name) => join(resolve(folder), name))
    .map((path) => ({ path, functions: documentedFunctions(readFileSync(path, 'utf8'), path) }))
    .filter(({ functions }) => functions.length > 0);
  const tools = await Promise.all(found.map(({ path, functions }) => load(path, functions)));
  const typed = names.filter((name) => /\.[mc]?ts$/.test(name) && !name.endsWith('.d.ts'));
  return {
    tools: tools.flat(),
    warnings: typed.map(
      (name) => `${name} is left out: tools are read from .mjs and .js files, with types in their comments.`,
    ),
  };
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    throw new SandboxError(
      'CONFIG_INVALID',
      `The folder of tools cannot be read: ${(error as Error).message}`,
      {
        hint: 'Name a folder with .mjs files: --tools DIR',
        cause: error,
      },
    );
  }
}

async function load(path: string, functions: readonly DocumentedFunction[]): Promise<readonly ForeignTool[]> {
  let loaded: Readonly<Record<string, unknown>>;
  try {
    loaded = (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw new SandboxError(
      'CONFIG_INVALID',
      `The tools of ${path} cannot be loaded: ${(error as Error).message}`,
      {
        hint: `Try: node ${path}`,
        details: { path },
        cause: error,
      },
    );
  }
  return functions.map(({ name, description, parameters, order }) => ({
    ...{ name, description, parameters, from: `the file ${path}` },
    check: (input) => checkInput(name, parameters, input),
    async run(input) {
      const action = loaded[name] as (...values: readonly unknown[]) => unknown;
      return resultOf(await action(...order.map((parameter) => input[parameter])));
    },
  }));
}

function checkInput(name: string, parameters: ObjectSchema, input: unknown): void {
  const schema = z.fromJSONSchema(parameters as Parameters<typeof z.fromJSONSchema>[0]);
  const { error } = schema.safeParse(input);
  if (error === undefined) return;
  throw new SandboxError('INPUT_INVALID', `The tool ${name} cannot be called so: ${z.prettifyError(error)}`, {
    hint: 'Give what its parameters say.',
  });
}

function resultOf(value: unknown): ForeignResult {
  const json = JSON.stringify(value, null, 2) ?? 'null';
  const text = typeof value === 'string' ? value : value === undefined ? '' : json;
  return { text, structured: { output: JSON.parse(json) } };
}
