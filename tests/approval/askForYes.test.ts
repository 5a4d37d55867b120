import { getEventListeners } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openTerminal } from '../../src/gate/approval/openTerminal.ts';
import { askForYes } from '../../src/operations/trust/askForYes.ts';
import { missingForTerminals, PseudoTerminal } from './pseudoTerminal.ts';

const missing = missingForTerminals();
const PROMPT = 'sure? ';

interface Asked extends AsyncDisposable {
  readonly terminal: PseudoTerminal;
  readonly answer: Promise<boolean>;
  readonly abort: AbortController;
  /** How the terminal treated what is typed before anything was asked. */
  readonly modes: string;
}

async function ask({ typedBefore = '', lines = ['something'] } = {}): Promise<Asked> {
  const terminal = await PseudoTerminal.open();
  if (typedBefore !== '') {
    terminal.type(typedBefore);
    // The kernel's echo says that it has it.
    await terminal.shows(typedBefore.slice(-1));
  }
  const modes = terminal.modes();
  const abort = new AbortController();
  const answer = askForYes(openTerminal(terminal.path), () => lines, PROMPT, abort.signal);
  answer.catch(() => undefined);
  return { terminal, answer, abort, modes, [Symbol.asyncDispose]: () => terminal[Symbol.asyncDispose]() };
}

function openTerminals(): string[] {
  return readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${name}`);
      return /pts/.test(target) ? [target] : [];
    } catch {
      // The one that the folder was read by.
      return [];
    }
  });
}

describe.skipIf(missing !== undefined)(
  `a yes on a terminal${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    it.each([
      [true, 'the whole word', 'yes\r'],
      [true, 'the whole word, corrected', 'yas\x7f\x7fes\r'],
      [false, 'Enter alone', '\r'],
      [false, 'y', 'y\r'],
      [false, 'no', 'no\r'],
      [false, 'YES', 'YES\r'],
      [false, 'yes with a space', 'yes \r'],
      [false, 'yes and more', 'yess\r'],
      [false, 'a paste', '\x1b[200~yes\r\x1b[201~\r'],
      [false, 'yes within a paste and Enter', '\x1b[200~yes\x1b[201~\r'],
      [false, 'a special key', 'yes\x1b[A\r'],
      [false, 'Ctrl-C', '\x03'],
      [false, 'Ctrl-C after yes', 'yes\x03'],
      [false, 'Ctrl-D', '\x04'],
      [false, 'a no before a yes', 'no\ryes\r'],
    ])('is %s for %s', async (isYes, _, keys) => {
      await using asked = await ask();
      await asked.terminal.shows(PROMPT);
      asked.terminal.type(keys);
      expect(await asked.answer).toBe(isYes);
    });

    it.each(['yes\r', 'yes\ryes\ryes', 'yes'])('is not what was typed before: %j', async (typedBefore) => {
      await using asked = await ask({ typedBefore });
      await asked.terminal.shows(PROMPT);
      asked.terminal.type('\r');
      expect(await asked.answer).toBe(false);
    });

    it('can be taken back by Ctrl-C while the lines are being shown', async () => {
      await using asked = await ask({ lines: Array.from({ length: 100_000 }, (_, i) => `line ${i}`) });
      await asked.terminal.shows('line 0');
      asked.terminal.type('\x03');
      expect(await asked.answer).toBe(false);
      expect(asked.terminal.screen).not.toContain(PROMPT);
    });

    it('leaves the terminal as it was, and no descriptor or listener', async () => {
      const before = openTerminals();
      for (const end of ['yes\r', '\x03', 'abort']) {
        await using asked = await ask();
        await asked.terminal.shows(PROMPT);
        expect(asked.terminal.modes()).not.toBe(asked.modes);
        expect(openTerminals().length).toBeGreaterThan(before.length);
        if (end === 'abort') asked.abort.abort(new Error('ended'));
        else asked.terminal.type(end);
        await (end === 'abort' ? expect(asked.answer).rejects.toThrow('ended') : asked.answer);
        expect(asked.terminal.modes()).toBe(asked.modes);
        expect(openTerminals()).toEqual(before);
        expect(getEventListeners(asked.abort.signal, 'abort')).toEqual([]);
        await asked.terminal.shows('\x1b[?2004l');
      }
    });

    it('is lost with its terminal', async () => {
      const asked = await ask();
      await asked.terminal.shows(PROMPT);
      await asked.terminal[Symbol.asyncDispose]();
      await expect(asked.answer).rejects.toMatchObject({ code: 'INPUT_INVALID' });
      expect(getEventListeners(asked.abort.signal, 'abort')).toEqual([]);
    });

    it('ends in time on a terminal that takes nothing', async () => {
      await using asked = await ask({ lines: Array.from({ length: 100_000 }, (_, i) => `line ${i}`) });
      await asked.terminal.shows('line 0');
      asked.terminal.freeze();
      try {
        asked.abort.abort(new Error('ended'));
        await expect(asked.answer).rejects.toThrow('ended');
      } finally {
        asked.terminal.thaw();
      }
    });
  },
);
