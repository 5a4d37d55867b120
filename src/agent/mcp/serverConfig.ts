import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { SandboxError } from '../../errors.ts';

const local = z.strictObject({
  type: z.literal('stdio').optional(),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  cwd: z.string().optional(),
});

const remote = z.strictObject({
  type: z.enum(['http', 'streamable-http']).optional(),
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), z.string()).default({}),
});

const schema = z.object({
  mcpServers: z.record(z.string().regex(/^[A-Za-z0-9_-]{1,32}$/), z.union([local, remote])),
});

/** How to reach one server: a program of this machine, or an address. */
export type ServerConfig = z.infer<typeof local> | z.infer<typeof remote>;

/** The servers that a file names. Throws `CONFIG_INVALID` for one that cannot be read. */
export function readServers(path: string): Readonly<Record<string, ServerConfig>> {
  const { success, data, error } = schema.safeParse(json(path));
  if (success) return data.mcpServers;
  throw unusable(path, z.prettifyError(error).replace(/\s+/g, ' '));
}

/** What must not be told: values of variables, and of headers. */
export function secretsOf(config: ServerConfig): readonly string[] {
  return Object.values('command' in config ? config.env : config.headers);
}

function json(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw unusable(path, (error as Error).message);
  }
}

function unusable(path: string, why: string): SandboxError {
  return new SandboxError('CONFIG_INVALID', `The MCP servers of ${path} cannot be read: ${why}`, {
    hint: 'Write { "mcpServers": { "name": { "command": "…", "args": [] } } }, or { "url": "…" } for one that listens elsewhere.',
    details: { path },
  });
}
