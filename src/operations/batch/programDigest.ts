import { createHash } from 'node:crypto';
import type { BatchProgram } from './batch.ts';

/** What of a program decides what it does. */
export type Digested = Pick<BatchProgram, 'code' | 'language' | 'args' | 'env' | 'files' | 'timeout'> & {
  readonly stdin?: string;
};

/** SHA-256, as hexadecimal digits, of all that decides what a program does; the settings are not part of it. Pure. */
export function programDigest({ code, language, args, env, files, timeout, stdin }: Digested): string {
  return sha256(
    JSON.stringify({
      code: sha256(code),
      language: language ?? 'python',
      args: args ?? [],
      env: sorted(env ?? {}),
      stdin: stdin ?? '',
      files: sorted(files ?? {}).map(([path, content]) => [path, sha256(content)]),
      timeout: timeout ?? null,
    }),
  );
}

function sorted<Value>(map: Readonly<Record<string, Value>>): [string, Value][] {
  return Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
