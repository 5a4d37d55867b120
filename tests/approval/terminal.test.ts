import { execFileSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openTerminal } from '../../src/gate/approval/openTerminal.ts';
import type { Answer, Question } from '../../src/gate/approval/question.ts';
import { TerminalApprover } from '../../src/gate/approval/terminal.ts';
import { eventually } from '../support/eventually.ts';
import { missingForTerminals, PseudoTerminal } from './pseudoTerminal.ts';
import { questionOf } from './questions.ts';

const missing = missingForTerminals();
const PROMPT = 's left)? ';
const ASKS = [process.execPath, '--import', 'tsx', join(import.meta.dirname, '../programs/approval/asks.ts')];
const NO = { approved: false, reason: 'A person said no on the terminal.' };

interface Asked extends AsyncDisposable {
  readonly terminal: PseudoTerminal;
  readonly answer: Promise<Answer>;
  readonly abort: AbortController;
}

/** Asks on a new pseudo terminal, from this process. */
async function ask(question: Question = questionOf(), { typedBefore = '' } = {}): Promise<Asked> {
  const terminal = await PseudoTerminal.open();
  if (typedBefore !== '') {
    terminal.type(typedBefore);
    // The kernel's echo says that it has it.
    await terminal.shows(typedBefore.slice(-1));
  }
  const abort = new AbortController();
  const approver = new TerminalApprover({ open: () => openTerminal(terminal.path) });
  const answer = approver.ask(question, abort.signal);
  answer.catch(() => undefined);
  return { terminal, answer, abort, [Symbol.asyncDispose]: () => terminal[Symbol.asyncDispose]() };
}

/** Types when the question is open. */
async function answerTo(question: Question, ...typed: string[]): Promise<Answer> {
  await using asked = await ask(question);
  for (const [i, keys] of typed.entries()) {
    await asked.terminal.shows(PROMPT, i + 1);
    asked.terminal.type(keys);
  }
  return await asked.answer;
}

function openTerminals(): string[] {
  return readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${name}`);
      return /tty|pts/.test(target) ? [`${name}: ${target}`] : [];
    } catch {
      // The one that the folder was read by.
      return [];
    }
  });
}

describe.skipIf(missing !== undefined)(
  `a question on a terminal${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    it('is answered by a letter and Enter', async () => {
      expect(await answerTo(questionOf(), 'y\r')).toEqual({ approved: true });
      expect(await answerTo(questionOf(), 'n\r')).toEqual(NO);
    });

    it('is answered with no by Enter alone', async () => {
      expect(await answerTo(questionOf(), '\r')).toEqual(NO);
    });

    it('is answered for the same thing again, and for a sandbox where there is one', async () => {
      const exact = { approved: true, grant: { scope: 'exact', forSec: 3600 } };
      const operation = { approved: true, grant: { scope: 'operation', forSec: 3600 } };
      expect(await answerTo(questionOf(), 'e\r')).toEqual(exact);
      expect(await answerTo(questionOf({ sandboxId: 'sb-1' }), 'o\r')).toEqual(operation);
      expect(await answerTo(questionOf(), 'o\r', 'n\r')).toEqual(NO);
    });

    it('is asked again after anything else', async () => {
      expect(await answerTo(questionOf(), 'yy\r', 'sure\r', 'n y\r', 'y\r')).toEqual({ approved: true });
    });

    it('takes a whole word where the risk is grave', async () => {
      const grave = questionOf({ level: 'CRITICAL', timeoutSec: 30 });
      expect(await answerTo(grave, 'y\r', 'e\r', 'yes\r')).toEqual({ approved: true });
      expect(await answerTo(grave, 'y\r', 'ye\r', '\r')).toEqual(NO);
    });

    it('takes back what is deleted', async () => {
      expect(await answerTo(questionOf(), 'n\x7fy\r')).toEqual({ approved: true });
      expect(await answerTo(questionOf(), 'sure\x15y\r')).toEqual({ approved: true });
    });

    it('is not answered by what was typed before it was shown', async () => {
      for (const typedBefore of ['y\ny\ny', 'y\n', 'yes\ny']) {
        await using asked = await ask(questionOf(), { typedBefore });
        await asked.terminal.shows(PROMPT);
        asked.terminal.type('\r');
        expect(await asked.answer).toEqual(NO);
      }
    });

    it('is not answered by what is typed while it is being shown', async () => {
      await using asked = await ask(questionOf({ text: 'print(1)\n'.repeat(5000) }));
      await asked.terminal.shows('Glovebox asks');
      for (let i = 0; i < 20; i++) asked.terminal.type('y\r');
      await asked.terminal.shows(PROMPT);
      asked.terminal.type('\r');
      expect(await asked.answer).toEqual(NO);
    });

    it('is not open while keys keep coming, as of something long that was pasted', async () => {
      await using asked = await ask();
      let typed = 0;
      const typing = setInterval(() => {
        asked.terminal.type('y\r');
        typed++;
      }, 20);
      try {
        await eventually('much has been typed', () => typed >= 40);
        expect(asked.terminal.screen).not.toContain(PROMPT);
      } finally {
        clearInterval(typing);
      }
      await asked.terminal.shows(PROMPT);
      asked.terminal.type('\r');
      expect(await asked.answer).toEqual(NO);
    });

    it('is not answered by a paste, by special keys or by control characters', async () => {
      const typed = [
        '\x1b[200~y\ry\r\x1b[201~\r',
        'y\x1b[A\r',
        '\x1b[Ay\r',
        '\x1bOy\r',
        'y\x00\r',
        'ÿy\r',
        'y\x1a\r',
      ];
      expect(await answerTo(questionOf(), ...typed, 'n\r')).toEqual(NO);
    });

    it('is answered with no by Ctrl-C and Ctrl-D, also within a paste', async () => {
      for (const [keys, name] of [
        ['\x03', 'Ctrl-C'],
        ['\x04', 'Ctrl-D'],
        ['y\x03', 'Ctrl-C'],
        ['\x1b[200~\x03', 'Ctrl-C'],
      ] as const) {
        const reason = `A person pressed ${name} on the terminal.`;
        expect(await answerTo(questionOf(), keys)).toEqual({ approved: false, reason });
      }
    });

    it('shows the code again when asked to', async () => {
      await using asked = await ask(questionOf({ text: 'unmistakable\n' }));
      await asked.terminal.shows(PROMPT);
      asked.terminal.type('v\r');
      await asked.terminal.shows('unmistakable', 2);
      await asked.terminal.shows(PROMPT, 2);
      asked.terminal.type('y\r');
      expect(await asked.answer).toEqual({ approved: true });
    });

    it('ends when time is up, and says so', async () => {
      await using asked = await ask(questionOf({ timeoutSec: 1 }));
      await asked.terminal.shows(PROMPT);
      setTimeout(() => asked.abort.abort(), 1000);
      await expect(asked.answer).rejects.toThrow('aborted');
      await asked.terminal.shows('No answer in 1 s: denied.');
    });

    it('ends when somebody else has answered, and says so', async () => {
      await using asked = await ask();
      await asked.terminal.shows(PROMPT);
      asked.abort.abort();
      await expect(asked.answer).rejects.toThrow('aborted');
      await asked.terminal.shows('Answered elsewhere.');
    });

    it('takes no answer after its time, even if nobody ends it', async () => {
      await using asked = await ask(questionOf({ timeoutSec: 1 }));
      await asked.terminal.shows(PROMPT);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      asked.terminal.type('y\r');
      expect(await asked.answer).toEqual({ approved: false, reason: 'The answer came too late.' });
    });

    it('leaves the terminal as it was, and no descriptor, listener or question', async () => {
      const before = openTerminals();
      for (const end of ['y\r', '\x03', 'abort'] as const) {
        await using asked = await ask();
        const modes = asked.terminal.modes();
        await asked.terminal.shows(PROMPT);
        expect(openTerminals().length).toBeGreaterThan(before.length);
        if (end === 'abort') asked.abort.abort();
        else asked.terminal.type(end);
        await asked.answer.catch(() => undefined);
        expect(asked.terminal.modes()).toBe(modes);
        expect(openTerminals()).toEqual(before);
        expect(getEventListeners(asked.abort.signal, 'abort')).toEqual([]);
        expect(asked.terminal.screen.split('\x1b[?2004h')).toHaveLength(2);
        await asked.terminal.shows('\x1b[?2004l');
      }
    });

    it('shows 5,000 lines whole, and writes nothing to the terminal but our own sequences', async () => {
      const hostile = '\x1b[2J\x1b]0;owned\x07\u202e\u200b\x9b5n\r\x1b[6n';
      const text = Array.from(
        { length: 5000 },
        (_, i) => `line_${i} = "${'x'.repeat(180)}" ${hostile}\n`,
      ).join('');
      await using asked = await ask(
        questionOf({
          text,
          parameters: { name: hostile, [hostile]: [hostile] },
          runtime: hostile,
          sandboxId: hostile,
          sights: [{ effect: 'deletes_files', name: hostile, line: 3, why: hostile, isDangerous: true }],
        }),
      );
      await asked.terminal.shows(PROMPT);
      asked.terminal.type('\r');
      await asked.answer;
      await asked.terminal.shows('\x1b[?2004l');
      const { screen } = asked.terminal;
      const ours = /\x1b\[(?:1|2|22|7|27)m|\x1b\[\?2004[hl]|\r\n/g;
      expect(screen.replace(ours, '')).not.toMatch(/[\p{C}\u2028\u2029]/u);
      const rows = screen.replace(ours, (match) => (match === '\r\n' ? '\n' : '')).split('\n');
      expect(rows.filter((row) => /^ *\d+ ┃ line_\d+ = "x/.test(row))).toHaveLength(5000);
      const code = rows.filter((row) => /^ *(\d+|↪) ┃ /.test(row)).map((row) => row.replace(/^.*? ┃ /, ''));
      const shown = '⟦U+001B⟧[2J⟦U+001B⟧]0;owned⟦U+0007⟧⟦U+202E⟧⟦U+200B⟧⟦U+009B⟧5n⟦U+000D⟧⟦U+001B⟧[6n';
      expect(code.join('')).toBe(text.replaceAll(hostile, shown).replaceAll('\n', ''));
    });

    it('waits for the one before it', async () => {
      await using terminal = await PseudoTerminal.open();
      const approver = new TerminalApprover({ open: () => openTerminal(terminal.path) });
      const { signal } = new AbortController();
      const first = approver.ask(questionOf({ text: 'earlier\n' }), signal);
      const second = approver.ask(questionOf({ text: 'later\n' }), signal);
      await terminal.shows(PROMPT);
      expect(terminal.screen).not.toContain('later');
      terminal.type('y\r');
      expect(await first).toEqual({ approved: true });
      await terminal.shows(PROMPT, 2);
      terminal.type('n\r');
      expect(await second).toEqual(NO);
    });

    it('ends while it waits for the one before it, which goes on', async () => {
      await using terminal = await PseudoTerminal.open();
      const approver = new TerminalApprover({ open: () => openTerminal(terminal.path) });
      const { signal } = new AbortController();
      const first = approver.ask(questionOf({ text: 'earlier\n' }), signal);
      const abort = new AbortController();
      const second = approver.ask(questionOf({ text: 'later\n' }), abort.signal);
      const third = approver.ask(questionOf({ text: 'last\n' }), signal);
      await terminal.shows(PROMPT);
      abort.abort();
      await expect(second).rejects.toThrow('aborted');
      expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
      terminal.type('y\r');
      expect(await first).toEqual({ approved: true });
      await terminal.shows(PROMPT, 2);
      terminal.type('\r');
      expect(await third).toEqual(NO);
      expect(terminal.screen).not.toContain('later');
    });

    it('ends in time on a terminal that takes nothing', async () => {
      const before = openTerminals();
      await using asked = await ask(questionOf({ text: 'print(1)\n'.repeat(100_000) }));
      await asked.terminal.shows('Glovebox asks');
      asked.terminal.freeze();
      try {
        asked.abort.abort();
        await expect(asked.answer).rejects.toThrow('aborted');
        expect(openTerminals()).toEqual(before);
      } finally {
        asked.terminal.thaw();
      }
      expect(asked.terminal.screen).not.toContain(PROMPT);
    });

    it('is not asked about what is not what its hash says', async () => {
      await using terminal = await PseudoTerminal.open();
      const approver = new TerminalApprover({ open: () => openTerminal(terminal.path) });
      const question = { ...questionOf(), code: { language: 'python', bytes: Buffer.from('other') } };
      const asked = approver.ask(question, new AbortController().signal);
      await expect(asked).rejects.toMatchObject({ code: 'APPROVAL_EXPIRED' });
      expect(terminal.screen).toBe('');
    });

    it('is lost with its terminal', async () => {
      const asked = await ask();
      await asked.terminal.shows(PROMPT);
      await asked.terminal[Symbol.asyncDispose]();
      await expect(asked.answer).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
      expect(getEventListeners(asked.abort.signal, 'abort')).toEqual([]);
    });

    it('is asked on the terminal that controls the process, not on its streams', async () => {
      await using terminal = await PseudoTerminal.open(...ASKS);
      await terminal.shows(PROMPT);
      terminal.type('y\r');
      expect(JSON.parse(await terminal.printed())).toEqual({ answer: { approved: true } });
      await terminal.shows('Approved, this once.');
    });

    it('survives Ctrl-C, which is a no', async () => {
      await using terminal = await PseudoTerminal.open(...ASKS);
      await terminal.shows(PROMPT);
      terminal.type('\x03');
      const reason = 'A person pressed Ctrl-C on the terminal.';
      expect(JSON.parse(await terminal.printed())).toEqual({ answer: { approved: false, reason } });
    });

    it('is refused in the background, where reading would stop the whole process', async () => {
      const inBackground = ['bash', '-c', 'exec 2> /dev/null; set -m; "$@" & wait', 'bash', ...ASKS];
      await using terminal = await PseudoTerminal.open(...inBackground);
      expect(JSON.parse(await terminal.printed())).toEqual({
        code: 'APPROVAL_DENIED',
        message: 'Glovebox runs in the background of its terminal, so nobody can answer.',
      });
      expect(terminal.screen).toBe('');
    });

    it('is refused where no terminal controls the process', () => {
      const printed = execFileSync('setsid', ['--wait', ...ASKS], {
        encoding: 'utf8',
        cwd: join(import.meta.dirname, '../..'),
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      expect(JSON.parse(printed)).toEqual({
        code: 'APPROVAL_DENIED',
        message: 'There is no terminal on which a person could be asked.',
      });
    });
  },
);
