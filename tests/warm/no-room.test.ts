/** Input that finds no room in a sandbox: what could not begin is never told as a program that has ended. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { getSandbox } from '../../src/operations/getSandbox.ts';
import { describeMissing, TARGETS } from '../support/targets.ts';
import { LANGUAGES } from './support.ts';

const MB = 1024 ** 2;
const COUNTS = {
  python: 'import sys; print(len(sys.stdin.read()))',
  javascript: "import { readFileSync } from 'node:fs'; console.log(readFileSync(0).length)",
  shell: 'wc -c',
};

const held = TARGETS.filter(({ capabilities }) => capabilities.limits.diskMb !== 'none');

describe.each(held)('a sandbox of 4 MB: $name', ({ runtime }) => {
  describe.each(LANGUAGES)('%s', (language) => {
    it.each([
      ['less', 3, 0],
      ['more', 6, 0],
      ['more together with a file', 3, 3],
    ])('is given %s than that', async (_, inputMb, fileMb) => {
      const cwd = mkdtempSync(join(tmpdir(), 'room-'));
      onTestFinished(() => rmSync(cwd, { recursive: true }));
      const options = { language, diskMb: 4, memoryMb: 256 };
      const input = {
        stdin: Buffer.alloc(inputMb * MB, 'x'),
        files: fileMb === 0 ? {} : { data: Buffer.alloc(fileMb * MB, 'y') },
      };
      for (const warm of [false, true]) {
        await using sandbox = getSandbox({ runtime, cwd, warm });
        if (warm) await sandbox.warmUp(options);
        const said = await sandbox.execute(COUNTS[language], { ...options, ...input }).then(
          ({ outcome, exitCode, stdout }) => [outcome, exitCode, stdout.trim()],
          ({ code }: { code: string }) => code,
        );
        // Where its input is no file, or one elsewhere, all of it is there.
        const all = ['exited', 0, String(inputMb * MB)];
        const possible = inputMb + fileMb < 4 ? [all] : [all, 'SANDBOX_FAILED', 'INPUT_INVALID'];
        expect(possible).toContainEqual(said);
      }
    });
  });
});

describeMissing('a sandbox without room');
