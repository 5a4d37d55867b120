/** A driver as one writes it on the first afternoon: it runs programs, and holds nothing. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { local } from '../../src/runtimes/local/index.ts';
import type { Exit, Guest, Runtime } from '../../src/runtimes/runtime.ts';

/** `end` is what it takes for a program's end: its own, or that of the last one to hold its output. */
export function naive(end: 'exit' | 'close'): Runtime {
  const plain = local({ isolation: 'none', cgroups: null });
  return {
    name: 'naive',
    probe: () => plain.probe(),
    async create(spec) {
      const model = await plain.create(spec);
      const { enforced } = model;
      const workspace = await mkdtemp(join(tmpdir(), 'naive-'));
      const guest: Guest = {
        workspace,
        sharesLoopback: true,
        enforced,
        environment: { ...model.environment, HOME: workspace, TMPDIR: workspace },
        interpreter: (language) => model.interpreter(language),
        async spawn({ argv: [file, ...args], env, stdin }) {
          const child = spawn(file, args, { cwd: workspace, env: { ...process.env, ...env } });
          child.stdin.on('error', () => {});
          if (stdin !== 'stream') child.stdin.end(stdin);
          const exit = new Promise<Exit>((resolve, reject) => {
            child.once('error', reject);
            child.once(end, (code: number | null) => resolve({ code: code ?? 1, outOfMemory: false }));
          });
          exit.catch(() => {});
          const kill = async (signal: NodeJS.Signals): Promise<void> => {
            child.kill(signal);
          };
          return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, exit, kill };
        },
        readFile: (path) => readFile(join(workspace, path)),
        writeFile: (path, data) => writeFile(join(workspace, path), data),
        listFiles: async (path) =>
          Promise.all(
            (await readdir(join(workspace, path))).map(async (name) => ({
              name,
              path: `/workspace/${name}`,
              type: 'file' as const,
              size: (await stat(join(workspace, path, name))).size,
              modifiedAt: '',
            })),
          ),
        removeFile: (path) => rm(join(workspace, path)),
        async pack(path) {
          const tar = spawn('tar', ['-c', '-h', '-C', join(workspace, path), '.']);
          return Object.assign(tar.stdout, { leftOut: [] });
        },
        async unpack(path, archive) {
          const tar = spawn('tar', ['-x', '-P', '-C', join(workspace, path)], {
            stdio: ['pipe', 'ignore', 'ignore'],
          });
          await pipeline(Readable.from(archive), tar.stdin);
          await once(tar, 'close');
          return { files: 0, folders: 0, bytes: 0 };
        },
        async destroy() {
          await model.destroy();
          await rm(workspace, { recursive: true, force: true });
        },
      };
      return guest;
    },
  };
}
