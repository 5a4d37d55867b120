/** Shells and Node.js from the fork server: as cold ones, held as cold ones, and believed by their keeper alone. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { bubblewrap } from '../../src/runtimes/bubblewrap/index.ts';
import type { Guest } from '../../src/runtimes/runtime.ts';
import { eventually } from '../support/eventually.ts';
import { follow } from '../support/guests.ts';
import { describeMissing, TARGETS } from '../support/targets.ts';
import { childrenOf, NO_TRACES, tracesOf } from '../support/traces.ts';
import { runAsUser, whyNotAsUser } from './asUser.ts';
import { type FileCommand, LANGUAGES, openWarm, startFile } from './support.ts';

const HOLDER = fileURLToPath(import.meta.resolve('./programs/holdsIdle.ts'));
const FILES = { javascript: 'mjs', shell: 'sh' } as const;
type Language = keyof typeof FILES;

const isHere = TARGETS.some(({ name }) => name === 'bubblewrap');
const program = (name: string): string => readFileSync(new URL(`programs/${name}`, import.meta.url), 'utf8');

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

async function run(guest: Guest, language: Language, code: string, command?: FileCommand): Promise<Ran> {
  const started = await startFile(guest, language, code, command);
  const [stdout, stderr, exit] = await Promise.all([
    text(started.stdout),
    text(started.stderr),
    started.exit,
  ]);
  return { stdout, stderr, code: exit.code };
}

/** Without how many mounts there are: those that all programs share lie below those of each. */
function withoutMounts({ stdout, ...ran }: Ran): Ran {
  return { ...ran, stdout: stdout.replace(/^\d\d$|(?<=^\] )\d+/gm, '…') };
}

describeMissing('the fork server, other languages');

describe.skipIf(!isHere)('the fork server, other languages', () => {
  const { SANDBOX_PYTHON: python } = process.env;
  const interpreters = python === undefined ? {} : { python };
  const runtime = bubblewrap({ interpreters });
  afterAll(async () => {
    await runtime.rest?.();
    expect(tracesOf(process.pid)).toEqual(NO_TRACES);
    await eventually('no process is left', () => childrenOf(process.pid).length === 0);
  });

  async function open(language: Language, warm = true): Promise<Guest> {
    const guest = await openWarm(runtime, language, warm);
    onTestFinished(() => guest.destroy());
    expect(guest.warmedBy).toBe(warm ? 'fork_server' : undefined);
    return guest;
  }

  describe.each(Object.keys(FILES) as Language[])('%s', (language) => {
    it.each<[string, FileCommand]>([
      ['without input', {}],
      [
        'with arguments, variables and input',
        {
          args: ['a b', '', '$HOME', '*', "'"],
          env: { GREETING: 'two\nlines', 'NOT.A.NAME': '1', IFS: 'x' },
          stdin: Buffer.from('input\n'),
        },
      ],
    ])('shows a program what a cold one shows it %s', async (_, command) => {
      const code = program(`tellsAll.${FILES[language]}`);
      const cold = withoutMounts(await run(await open(language, false), language, code, command));
      expect(cold.stdout).toContain('…');
      expect(withoutMounts(await run(await open(language), language, code, command))).toEqual(cold);
    });

    it('holds it to what a cold one is held to, with the same open', async () => {
      const look = {
        shell: `grep -E "Seccomp|NoNewPrivs|Cap|Sig(Ign|Blk)" /proc/self/status; cat /proc/self/limits
echo /proc/$$/fd/*; cat /proc/keys`,
        javascript: `import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
const lines = readFileSync('/proc/self/status', 'utf8').split('\\n');
console.log(lines.filter((line) => /^(Seccomp|NoNewPrivs|Cap|Sig(Ign|Blk))/.test(line)).join('\\n'));
console.log(readFileSync('/proc/self/limits', 'utf8'), readFileSync('/proc/keys', 'utf8'));
for (const name of readdirSync('/proc/self/fd')) {
  // The last is the one by which it looks, and is gone.
  try { console.log(name, Number(name) > 2 && readlinkSync('/proc/self/fd/' + name).split(':')[0]); } catch {}
}`,
      }[language];
      const [cold, warm] = [await open(language, false), await open(language)];
      const seen = await run(warm, language, look);
      expect(seen).toEqual(await run(cold, language, look));
      expect(seen.stdout).toMatch(/CapBnd:\s0+\n/);
      expect({ ...warm.enforced, uid: null }).toEqual({ ...cold.enforced, uid: null });
    });

    it('believes the program’s parent, and nothing that the program writes', async () => {
      const guest = await open(language);
      const ran = await run(guest, language, program(`forgesItsEnd.${FILES[language]}`));
      expect(ran.code).toBe(7);
      // Its output is all that it could write to, and it reached nothing of the process above it.
      expect(Buffer.from(await guest.readFile('told', 1000)).toString()).toBe('1 2: \n');
    });

    it('shows nothing of one program to the next', async () => {
      const secret = randomBytes(12).toString('hex');
      const env = { HALF: secret.slice(0, 12), OTHER: secret.slice(12) };
      const hides = {
        shell: `printf %s "$1" | tee hidden /tmp/hidden /dev/shm/hidden >&2; echo up; read -r line`,
        javascript: `import fs from 'node:fs';
for (const path of ['hidden', '/tmp/hidden', '/dev/shm/hidden']) fs.writeFileSync(path, process.argv[2]);
globalThis.kept = Buffer.alloc(1 << 20, process.argv[2]);
console.log('up');
process.stdin.resume();`,
      }[language];
      const finds = {
        shell: `shopt -s nullglob globstar
for path in /workspace/** /tmp/** /dev/shm/** /proc/[0-9]*/{environ,cmdline}; do
  [ -f "$path" ] && tr -d '\\0' <"$path" 2>/dev/null | grep -qa "$HALF$OTHER" && echo "$path"
done
true`,
        javascript: `import fs from 'node:fs';
const { HALF, OTHER } = process.env;
const half = Buffer.from(HALF), other = Buffer.from(OTHER);
const has = (bytes) => {
  for (let at = bytes.indexOf(half); at >= 0; at = bytes.indexOf(half, at + 1)) {
    if (bytes.subarray(at + half.length, at + half.length + other.length).equals(other)) return true;
  }
  return false;
};
for (const folder of ['/workspace', '/tmp', '/dev/shm']) {
  for (const name of fs.readdirSync(folder)) if (has(fs.readFileSync(folder + '/' + name))) console.log(folder);
}
const memory = fs.openSync('/proc/self/mem', 'r');
for (const line of fs.readFileSync('/proc/self/maps', 'utf8').split('\\n')) {
  const [, start, end] = /^(\\w+)-(\\w+) rw/.exec(line) ?? [];
  const length = parseInt(end, 16) - parseInt(start, 16);
  if (!(length < 1 << 26)) continue;
  const bytes = Buffer.alloc(length);
  try { fs.readSync(memory, bytes, 0, length, parseInt(start, 16)); } catch { continue; }
  if (has(bytes)) { console.log('memory'); break; }
}`,
      }[language];
      const before = await open(language);
      const other = await startFile(await open(language), language, hides, {
        args: [secret],
        stdin: 'stream',
      });
      await follow(other).until('up');
      for (const guest of [before, await open(language)]) {
        expect(await run(guest, language, finds, { env })).toMatchObject({ code: 0, stdout: '' });
      }
      // The control: what is its own is found.
      const found = await run(await open(language), language, finds, { env, args: [secret] });
      expect(found).toMatchObject({ code: 0, stdout: expect.stringMatching(/cmdline|memory/) });
    });

    it('takes files and input along, and hands out what came of them', async () => {
      const guest = await open(language);
      await guest.writeFile('deep/er/data', Buffer.alloc(3_000_000, 'x'));
      await guest.writeFile('/workspace/überall', Buffer.from('text'));
      const code = {
        shell: 'cat deep/er/data - | wc -c >sum; ls; stat -c "%a %u" deep deep/er/data',
        javascript: `import fs from 'node:fs';
fs.writeFileSync('sum', (fs.readFileSync('deep/er/data').length + fs.readFileSync(0).length) + '\\n');
console.log(fs.readdirSync('.').sort().join('\\n'));
for (const path of ['deep', 'deep/er/data']) {
  const { mode, uid } = fs.statSync(path);
  console.log((mode & 0o777).toString(8), uid);
}`,
      }[language];
      const ran = await run(guest, language, code, { stdin: Buffer.alloc(2_000_000, 'y') });
      const listed = ['deep', `main.${FILES[language]}`, 'sum', 'überall', '755 1000', '644 1000', ''];
      expect(ran).toEqual({ code: 0, stdout: listed.join('\n'), stderr: '' });
      expect(Buffer.from(await guest.readFile('sum', 100)).toString()).toBe('5000000\n');
    });

    it('gives it a stream as it comes, and tells how it was ended from outside', async () => {
      const code = {
        shell: 'echo begun; exec cat',
        javascript: 'console.log("begun"); process.stdin.pipe(process.stdout);',
      }[language];
      for (const [signal, status] of [
        ['SIGTERM', 143],
        ['SIGKILL', 137],
        [undefined, 0],
      ] as const) {
        const started = await startFile(await open(language), language, code, { stdin: 'stream' });
        const output = follow(started);
        await output.until('begun');
        started.stdin?.write('first\n');
        await output.until('first');
        if (signal === undefined) started.stdin?.end('second\n');
        else await started.kill(signal);
        expect(await started.exit).toMatchObject({ code: status, outOfMemory: false });
        if (signal === undefined) await output.until('second');
      }
    });
  });

  it('leaves it to another way to wait where there is no Python', async () => {
    const without = bubblewrap({ interpreters: { python: '/nowhere/python3' } });
    const guest = await openWarm(without, 'shell');
    onTestFinished(() => guest.destroy());
    expect(guest.warmedBy).toBe('waiting_interpreter');
    expect(await run(guest, 'shell', 'echo 1')).toMatchObject({ code: 0, stdout: '1\n' });
  });

  const whyNot = whyNotAsUser(HOLDER);
  it.skipIf(whyNot)(`works for an ordinary user too${whyNot}`, async () => {
    const said = await runAsUser(HOLDER, 'forks');
    expect(said).toEqual(LANGUAGES.map(() => ['fork_server', 'an ordinary user\n', 0]));
  });
});
