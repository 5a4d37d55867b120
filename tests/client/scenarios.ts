/** What a program does with a service, whichever it is; each resolves to all that it was told. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { OneShotSandbox, OutputChunk, RichResult, SandboxService } from '../../src/index.ts';

export interface Scenario {
  readonly title: string;
  readonly run: (service: SandboxService & OneShotSandbox, folder: string) => Promise<unknown>;
}

/** What was thrown, by its code, and by the reason where a sandbox has ended. */
export async function thrownBy(work: () => unknown): Promise<unknown> {
  try {
    return { resolved: await work() };
  } catch (error) {
    const { code, name, details } = error as { code?: string; name: string; details?: { reason?: string } };
    return { name, code, reason: details?.reason };
  }
}

/** Chunks come as they may; what counts is what they come to. */
function collector() {
  const bytes = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const texts = { stdout: '', stderr: '' };
  return {
    onOutput: (chunk: OutputChunk): void => {
      bytes[chunk.stream].push(Buffer.from(chunk.bytes));
      texts[chunk.stream] += chunk.text;
    },
    all: () => ({ texts, stdout: Buffer.concat(bytes.stdout), stderr: Buffer.concat(bytes.stderr) }),
  };
}

async function inSandbox<Result>(
  service: SandboxService,
  use: (handle: Awaited<ReturnType<SandboxService['get']>>, id: string) => Promise<Result>,
): Promise<Result> {
  const id = await service.createSandbox({ language: 'python', env: { FROM_SANDBOX: 'yes' } });
  try {
    return await use(await service.get(id), id);
  } finally {
    await service.destroySandbox(id);
  }
}

const PRINTING = `
import sys
sys.stdout.buffer.write('é€😀\\n'.encode() * 20000)
sys.stdout.buffer.write(b'\\xff\\xfe no text')
sys.stderr.write('beside\\n' * 1000)
`;

export const SCENARIOS: readonly Scenario[] = [
  {
    title: 'one program with everything that it can be given',
    run: (service) =>
      service.execute(
        `
import os, sys
print(sys.argv[1:], os.environ['GIVEN_NAME'], sys.stdin.read(), open('in.bin', 'rb').read(), open('sub_dir/inText.txt').read())
open('out.bin', 'wb').write(bytes(range(256)))
open('out text.txt', 'w').write('é')
sys.exit(3)
`,
        {
          args: ['one', '--two_three'],
          env: { GIVEN_NAME: 'value' },
          stdin: Readable.from(['from ', 'a stream']),
          files: { 'in.bin': Uint8Array.of(0, 255), 'sub_dir/inText.txt': 'text' },
          collect: ['out.bin', 'out text.txt', 'missing_file'],
          memoryMb: 256,
          timeout: 10,
        },
      ),
  },
  {
    title: 'code and input as bytes, in another language',
    run: (service) =>
      service.execute(Buffer.from('read -r line; echo "$line $1"; echo oops >&2'), {
        language: 'bash',
        stdin: Buffer.from('of bytes\n'),
        args: ['x'],
      }),
  },
  {
    title: 'all output as it comes, and a result that was cut',
    run: async (service) => {
      const { onOutput, all } = collector();
      const result = await service.execute(PRINTING, { onOutput, maxOutputKb: 1 });
      return { result, told: all() };
    },
  },
  {
    title: 'a program that is too slow',
    run: (service) =>
      service.execute('print("first", flush=True)\nimport time; time.sleep(60)', { timeout: 1 }),
  },
  {
    title: 'options and code that cannot be meant',
    run: async (service) => [
      await thrownBy(() => service.execute('1', { timeout: -1 })),
      await thrownBy(() => service.execute('1', { maxOutputKb: 1, maxOutputBytes: 1 })),
      await thrownBy(() => service.execute(5 as never)),
      await thrownBy(() => service.execute('1', { language: 'cobol' })),
      await thrownBy(() => service.execute('1', { files: { '../x': 'y' } })),
      await thrownBy(() => service.createSandbox({ sandboxId: '../x' })),
      await thrownBy(() => service.executeCode('../executions', '1')),
    ],
  },
  {
    title: 'files of a sandbox, one by one',
    run: (service) =>
      inSandbox(service, async (sandbox, id) => [
        await service.writeFile(id, 'sub folder/ä&?#.txt', 'text é'),
        await service.writeFile(id, '/workspace/data.bin', Uint8Array.of(0, 159, 255)),
        await service.readFile(id, 'sub folder/ä&?#.txt'),
        await service.readFile(id, 'data.bin'),
        Buffer.from(await sandbox.readBytes('data.bin')),
        await service.listFiles(id),
        await sandbox.listFiles('sub folder'),
        await sandbox.removeFile('data.bin'),
        await thrownBy(() => sandbox.removeFile('sub folder')),
        await sandbox.removeFile('sub folder', { recursive: true }),
        await sandbox.listFiles(),
        await thrownBy(() => service.readFile(id, 'missing.txt')),
        await thrownBy(() => service.readFile(id, '/etc/passwd')),
      ]),
  },
  {
    title: 'whole folders, in and out',
    run: (service, folder) =>
      inSandbox(service, async (sandbox) => {
        const [from, to] = [join(folder, 'from'), join(folder, 'to')];
        for (const name of [from, join(from, 'deep'), to]) mkdirSync(name, { recursive: true });
        writeFileSync(join(from, 'a.txt'), 'a');
        writeFileSync(join(from, 'deep/b.bin'), Buffer.alloc(300_000, 7));
        const uploaded = await sandbox.uploadFrom(from, 'project', { exclude: ['left_out'] });
        const seen = await sandbox.exec([
          'sh',
          '-c',
          'cd project && ls -R && wc -c deep/b.bin && echo new > c.txt',
        ]);
        const downloaded = await sandbox.downloadTo('project', to);
        const archive = await buffer(await sandbox.download('project/deep'));
        const unpacked = await sandbox.upload('copy', Readable.from([archive]));
        return {
          ...{ uploaded, seen, downloaded, unpacked },
          carried: readFileSync(join(to, 'deep/b.bin')).equals(Buffer.alloc(300_000, 7)),
          made: readFileSync(join(to, 'c.txt'), 'utf8'),
          copied: (await sandbox.readBytes('copy/b.bin')).length,
        };
      }),
  },
  {
    title: 'executions and commands of one sandbox, with their output in pages',
    run: (service) =>
      inSandbox(service, async (sandbox, id) => {
        const { onOutput, all } = collector();
        const started: string[] = [];
        const first = await service.executeCode(
          id,
          'import os; print(os.environ["FROM_SANDBOX"]); open("x", "w")',
          {
            onOutput,
            maxMemoryMb: 128,
            onStart: ({ executionId }) => started.push(executionId),
          },
        );
        const second = await service.exec(id, ['ls', '-1'], { env: { A: 'b' } });
        const long = await sandbox.execute('for i in range(3000): print("ü", i)');
        const { executionId } = long.meta;
        const pages = [];
        for await (const page of sandbox.follow(executionId, { offset: 1, limit: 10_000 })) pages.push(page);
        return {
          ...{ first, second, told: all(), sameId: started[0] === first.meta.executionId },
          page: await sandbox.output(executionId, { offset: 5, limit: 12 }),
          followed: pages.map(({ text, offset, nextOffset, stream }) => ({
            text,
            offset,
            nextOffset,
            stream,
          })),
          unknown: await thrownBy(() => sandbox.output('no-such-execution')),
        };
      }),
  },
  {
    title: 'a context that keeps its state',
    run: (service) =>
      inSandbox(service, async (sandbox) => {
        const context = await sandbox.context('python');
        const results: RichResult[] = [];
        const { onOutput, all } = collector();
        const cells = [
          await context.execute('x = 20; print("here")', { onOutput }),
          await context.execute('x + 1', { onResult: (result) => void results.push(result) }),
          await context.execute('1 / 0'),
          await context.execute('while True: pass', { timeout: 1 }),
          await context.execute('x'),
        ];
        const before = context.ended;
        await context.close();
        return {
          ...{ cells, results, told: all(), before, after: context.ended, language: context.language },
          closed: await thrownBy(() => context.execute('x')),
          interrupted: await (await sandbox.context()).interrupt(),
        };
      }),
  },
  {
    title: 'a process in the background',
    run: (service) =>
      inSandbox(service, async (sandbox) => {
        const { onOutput, all } = collector();
        const code =
          'import sys\nprint("ready", flush=True)\nfor line in sys.stdin: print("got", line.strip(), flush=True)';
        const process = await sandbox.start({ code }, { stdin: 'stream', onOutput });
        const line = await process.waitForLine(/^rea/);
        const inVain = await thrownBy(() => process.waitForLine('never', { timeout: 0.2 }));
        await process.write('one\n');
        const answered = await process.waitForLine('got one');
        const running = await process.status;
        await process.closeStdin();
        const result = await process.wait();
        const lines = [];
        for await (const one of process.lines({ stream: 'stdout' })) lines.push(one);
        const sleeping = await sandbox.start(['sh', '-c', 'echo up; exec sleep 100']);
        await sleeping.waitForLine('up');
        const listed = (await sandbox.processes()).map(({ argv }) => argv.at(-1)?.replace(/.*\//, ''));
        await sleeping.kill();
        const fed = await sandbox.start(['cat'], { stdin: Readable.from(['a', 'b']) });
        return {
          ...{ line, inVain, answered, running, result, lines, listed, told: all() },
          ended: await process.status,
          page: await process.output(),
          killed: await sleeping.wait(),
          fed: (await fed.wait()).stdout,
          late: await thrownBy(() => sandbox.start({ code: '1' }, { stdin: 'text' as never })),
        };
      }),
  },
  {
    title: 'a port that there is no way to, and a signal',
    run: (service) =>
      inSandbox(service, async (sandbox) => {
        const process = await sandbox.start(['sleep', '100']);
        const noWay = await thrownBy(() => process.waitForPort(8123, { timeout: 5 }));
        await process.kill('SIGKILL');
        const { outcome, exitCode } = await process.wait();
        return { noWay, outcome, exitCode, wrong: await thrownBy(() => process.kill('SIGUSR1' as never)) };
      }),
  },
  {
    title: 'a dry run that counts, one that does not, and one that comes too late',
    run: (service) =>
      inSandbox(service, async (sandbox) => {
        await sandbox.writeFile('kept_file.txt', 'before\n');
        const code =
          'open("kept_file.txt", "a").write("after\\n"); open("newFile", "w").write("x"); print("tried")';
        const forgotten = await sandbox.dryRun({ code });
        await forgotten.discard();
        await forgotten.discard();
        const { onOutput, all } = collector();
        const wanted = await sandbox.dryRun({ code }, { onOutput });
        const late = await sandbox.dryRun({ code });
        await wanted.commit();
        return {
          ...{ effects: wanted.effects, hash: wanted.hash, result: wanted.result, told: all() },
          again: await thrownBy(() => wanted.commit()),
          late: await thrownBy(() => late.commit()),
          discarded: await thrownBy(() => forgotten.commit()),
          kept: await sandbox.readFile('kept_file.txt'),
        };
      }),
  },
  {
    title: 'a dry run that is cancelled while it writes',
    run: (service) =>
      inSandbox(service, async (sandbox) => {
        const cancel = new AbortController();
        const told: string[] = [];
        const onOutput = ({ text }: { readonly text: string }): void => {
          told.push(text);
          cancel.abort();
        };
        const code =
          'import sys, time; open("new", "w"); sys.stdout.write("on"); sys.stdout.flush(); time.sleep(60)';
        const tried = await sandbox.dryRun({ code }, { onOutput, signal: cancel.signal });
        const before = await sandbox.dryRun({ code }, { signal: cancel.signal });
        return {
          ...{ told, effects: tried.effects, hash: tried.hash, result: tried.result },
          ...{ before: before.result, commit: await thrownBy(() => tried.commit()) },
          files: await sandbox.listFiles(),
        };
      }),
  },
  {
    title: 'sandboxes that have ended, or never were',
    run: async (service) => {
      const id = await service.createSandbox({
        sandboxId: 'my-own_id.1',
        limits: { memoryMb: 128, timeoutSec: 5 },
      });
      const taken = await thrownBy(() => service.createSandbox({ sandboxId: id }));
      const [listed] = await service.list();
      const handle = await service.get(id);
      const { enforced, warnings, runtime, ended } = handle;
      await handle.close();
      await handle.close();
      const end = await handle.whenEnded;
      return {
        ...{
          id,
          taken,
          enforced,
          warnings,
          runtime,
          ended,
          end: end.reason,
          message: end.message,
          left: await service.list(),
        },
        listed: Object.keys(listed ?? {}).sort(),
        byHandle: await thrownBy(() => handle.execute('1')),
        byId: await thrownBy(() => service.executeCode(id, '1')),
        destroyedTwice: await service.destroySandbox(id),
        unknown: await thrownBy(() => service.destroySandbox('never-was')),
        got: await thrownBy(() => service.get('never-was')),
        forwarded: await inSandbox(service, async (sandbox) => thrownBy(() => sandbox.forward(80))),
      };
    },
  },
  {
    title: 'a run that is cancelled',
    run: async (service) => {
      const cancel = new AbortController();
      const onOutput = (): void => cancel.abort();
      const code = 'import sys, time; sys.stdout.write("now"); sys.stdout.flush(); time.sleep(60)';
      const alone = await service.execute(code, { signal: cancel.signal, onOutput });
      return inSandbox(service, async (sandbox) => {
        const second = new AbortController();
        const options = { signal: second.signal, onOutput: () => second.abort() };
        return [alone, await sandbox.execute(code, options), await sandbox.execute('print("goes on")')];
      });
    },
  },
  {
    title: 'a listener that throws',
    run: async (service) => {
      const onOutput = (): never => {
        throw new RangeError('mine');
      };
      return inSandbox(service, async (sandbox) => [
        await thrownBy(() =>
          sandbox.execute('print(1, flush=True)\nimport time; time.sleep(60)', { onOutput }),
        ),
        await sandbox.execute('print("goes on")'),
      ]);
    },
  },
  {
    title: 'a closed service',
    run: async (service) => {
      const id = await service.createSandbox();
      const handle = await service.get(id);
      await Promise.all([service.close(), service.close()]);
      return [
        handle.ended?.reason,
        await thrownBy(() => service.createSandbox()),
        await thrownBy(() => service.executeCode(id, '1')),
        await thrownBy(() => handle.execute('1')),
      ];
    },
  },
];
