import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Proposal, proposalHash, type Question, sha256 } from '../question.ts';
import { questionHtml } from './questionHtml.ts';
import { showQuestion } from './showQuestion.ts';

function questionOf(code: string | Uint8Array, given: Partial<Question> = {}): Question {
  const proposal: Proposal = {
    operation: 'execute',
    code: { language: 'python', bytes: Buffer.from(code) },
    parameters: { timeout: 30, env: { MODE: 'fast' }, files: [] },
    policy: { network: 'allowlist', egress: { allowed_domains: ['pypi.org', '*.example.com'] } },
    runtime: 'bubblewrap',
    sandboxId: null,
  };
  return {
    ...proposal,
    id: 'q-1',
    hash: proposalHash(proposal),
    sights: [],
    risk: { level: 'HIGH', ask: true, timeoutSec: 60, rule: 'code', description: 'Code is run.' },
    askedAt: '2026-01-01T00:00:00.000Z',
    expiresAt: '2026-01-01T00:01:00.000Z',
    ...given,
  };
}

const PLAIN = { width: 80, colours: false };
const HOSTILE = '\x1b[2J\u202e\u200b\r\n━━ In short\n  y  yes\n1 ┃ x ⟦U+202E⟧\u{e0041}';

/** The code as it stands behind our marks. */
function codeIn(lines: readonly string[]): string[] {
  return lines.filter((line) => /^ *(\d+|↪) ┃ /.test(line)).map((line) => line.replace(/^[^┃]*┃ /, ''));
}

/** What a browser makes the text of it. */
function textOf(html: string): string {
  return html
    .replace(/<[^>]*>/g, '')
    .replace(/&#(\d+);/g, (_whole, code) => String.fromCodePoint(Number(code)));
}

describe('a question on a terminal', () => {
  it('says of a tool that no sandbox holds it, and shows all that it is called with', () => {
    const { code: _code, ...question } = questionOf('', {
      ...{ operation: 'call_tool', runtime: 'none', policy: {} },
      parameters: { tool: 'far__send', from: 'the MCP server far', input: { to: 'a\u202eb', body: 'x\ny' } },
    });
    const lines = showQuestion(question, PLAIN).join('\n');
    expect(lines).toContain('Sandbox    none: it runs outside of any sandbox, with all that you may do');
    expect(lines).toContain('tool: "far__send"');
    expect(lines).toContain('to: "a⟦U+202E⟧b"');
    expect(lines).not.toContain('gone afterwards');
  });

  it('tells everything that decides', () => {
    const question = questionOf('import os\n\tos.remove("x")  ', {
      sights: [
        { effect: 'deletes_files', name: 'os.remove', line: 2, why: 'deletes a file', isDangerous: true },
      ],
      notInspected: 'The rest is too long.',
    });
    const hash = sha256(question.code?.bytes ?? '');
    expect(showQuestion(question, PLAIN)).toEqual([
      '━━ Glovebox asks: may this be done?',
      '  Operation  execute, python',
      '  Runtime    bubblewrap',
      '  Sandbox    one of its own, gone afterwards',
      '  Risk       HIGH: Code is run. (rule code)',
      '  Time       60 s to answer, until 2026-01-01T00:01:00.000Z',
      '  Question   q-1',
      '  Policy',
      '    network: "allowlist"',
      '    egress:',
      '      allowed_domains:',
      '        - "pypi.org"',
      '        - "*.example.com"',
      '  Parameters',
      '    timeout: 30',
      '    env:',
      '      MODE: "fast"',
      '    files: (none)',
      '  It seems to do',
      '    - line 2, DANGEROUS: os.remove deletes a file (deletes_files)',
      '  Not looked into',
      '    - The rest is too long.',
      '━━ Code: 2 lines, 27 bytes',
      `  SHA-256    ${hash}`,
      '1 ┃ import os',
      '2 ┃ ⇥   os.remove("x")␠␠',
      '  (the last line has no line feed)',
      '━━ End of the code: 2 lines, 27 bytes',
      `  SHA-256    ${hash}`,
      '━━ In short',
      '  Asked for  execute on bubblewrap',
      '  Risk       HIGH: Code is run.',
      '  Code       2 lines, 27 bytes, whole above',
      '  Findings   1 finding',
      '    - line 2, DANGEROUS: os.remove deletes a file (deletes_files)',
      `  Hash       ${question.hash}`,
      '  y          yes, this once',
      '  n          no (also for Enter alone)',
      '  e          yes, and exactly this again, for an hour',
      '  v          show the code again',
    ]);
  });

  it('says what nobody has read yet, and offers no answer for exactly that', () => {
    const question = questionOf('x\n', { unknownContent: 'The archive is read while it is unpacked.' });
    const lines = showQuestion(question, PLAIN);
    const said = '  Not shown  The archive is read while it is unpacked.';
    expect(lines.filter((line) => line === said)).toHaveLength(2);
    expect(lines.filter((line) => line.startsWith('  e  '))).toEqual([]);
    expect(textOf(questionHtml(question))).toContain('The archive is read while it is unpacked.');
  });

  it('remarks on an encoding in which Python reads another text', () => {
    const question = questionOf('# coding: utf-7\nx = 1  #+AAo-print()\n');
    const remark = 'Line 1 declares the encoding utf-7: Python reads another text than this one.';
    expect(showQuestion(question, { ...PLAIN, width: 100 })).toContain(`    - ${remark}`);
    expect(textOf(questionHtml(question))).toContain(remark);
    expect(textOf(questionHtml(questionOf('# coding: utf-8\n')))).not.toContain('declares');
  });

  it('divides long lines and leaves nothing out', () => {
    const lines = showQuestion(questionOf(`${'x'.repeat(200)}\n${'語'.repeat(50)}\n`), PLAIN);
    expect(lines.filter((line) => line.includes('┃'))).toEqual([
      `1 ┃ ${'x'.repeat(73)}`,
      `↪ ┃ ${'x'.repeat(73)}`,
      `↪ ┃ ${'x'.repeat(54)}`,
      `2 ┃ ${'語'.repeat(36)}`,
      `↪ ┃ ${'語'.repeat(14)}`,
    ]);
  });

  it('begins a row after what another language takes for the end of a line', () => {
    const code = '# harmless\rimport os\u2028evil()\r\n';
    expect(codeIn(showQuestion(questionOf(code), PLAIN))).toEqual([
      '# harmless⟦U+000D⟧',
      'import os⟦U+2028⟧',
      'evil()⟦U+000D⟧',
    ]);
  });

  it('says what eyes do not find', () => {
    const text = showQuestion(questionOf('p\u0430ypal = "Größe"\u200b\u200b\n'), PLAIN).join('\n');
    expect(text).toContain('    - 5 characters outside printable ASCII.');
    expect(text).toContain('    - Shown as escapes: U+200B (2).');
    expect(text).toContain('    - Words with letters of several scripts: p\u0430ypal (line 1).');
  });

  it('lets nothing that is given pretend to be ours', () => {
    const question = questionOf(HOSTILE.repeat(3), {
      parameters: { [HOSTILE]: HOSTILE, deep: [[HOSTILE]] },
      policy: { x: HOSTILE },
      runtime: HOSTILE,
      sandboxId: HOSTILE,
      id: HOSTILE,
      notInspected: HOSTILE,
      sights: [{ effect: 'deletes_files', name: HOSTILE, line: 1, why: HOSTILE, isDangerous: true }],
    });
    for (const width of [0, 40, 80, 200, Number.NaN]) {
      const lines = showQuestion(question, { width, colours: false });
      expect(lines.filter((line) => line.startsWith('━━'))).toHaveLength(4);
      expect(lines.filter((line) => line.startsWith('  y '))).toHaveLength(1);
      expect(lines.filter((line) => /[\p{C}\p{Zl}\p{Zp}]/u.test(line))).toEqual([]);
      const widest = Math.max(...lines.map((line) => line.replace(/[^\x20-\x7e]/gu, 'xx').length));
      expect(widest).toBeLessThan(Math.max(width || 0, 40));
    }
  });

  it('shows any code whole', () => {
    const code = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ minLength: 100, maxLength: 400 }));
    fc.assert(
      fc.property(code, fc.integer({ min: 40, max: 120 }), (text, width) => {
        const shown = codeIn(showQuestion(questionOf(text), { width, colours: false })).join('');
        const back = shown
          .replace(/⇥ {3}/g, '\t')
          .replaceAll('␠', ' ')
          .replace(/⟦U\+([0-9A-F]+)⟧/g, (_whole, digits) =>
            String.fromCodePoint(Number.parseInt(digits, 16)),
          );
        expect(back).toBe(Buffer.from(text).toString().replaceAll('\n', ''));
      }),
      { numRuns: 100 },
    );
  });

  it('colours only with sequences that end on their line', () => {
    const lines = showQuestion(questionOf(HOSTILE), { width: 80, colours: true });
    for (const line of lines) {
      expect(
        line.replace(
          /\x1b\[1m([^\x1b]*)\x1b\[22m|\x1b\[2m([^\x1b]*)\x1b\[22m|\x1b\[7m([^\x1b]*)\x1b\[27m/g,
          '',
        ),
      ).not.toContain('\x1b');
    }
    expect(lines.join('')).toContain('\x1b[7m⟦U+001B⟧\x1b[27m');
  });

  it('shows values of any depth and of many lines', () => {
    const deep = JSON.parse(`${'['.repeat(500)}"end"${']'.repeat(500)}`) as unknown;
    const lines = showQuestion(questionOf('', { policy: { deep, text: 'one\n\n  three', n: null } }), PLAIN);
    expect(lines.filter((line) => line.includes('"end"'))).toEqual([`${' '.repeat(24)}(level 501) - "end"`]);
    const start = lines.indexOf('    text: a text of 3 lines');
    expect(lines.slice(start + 1, start + 5)).toEqual([
      '      ┃ one',
      '      ┃ ',
      '      ┃   three',
      '    n: null',
    ]);
  });

  it.each([
    ['letters', 'x'],
    ['escapes', '\x1b'],
    ['foreign letters', 'ж'],
    ['spaces', ' '],
  ])('takes no more than a moment for 5,000 lines of 200 %s', (_what, character) => {
    const question = questionOf(`${character.repeat(199)}x\n`.repeat(5000));
    const start = performance.now();
    expect(codeIn(showQuestion(question, PLAIN)).length).toBeGreaterThanOrEqual(15_000);
    expect(questionHtml(question).length).toBeGreaterThan(1_000_000);
    // What quadratic time would be far beyond, however busy the machine is.
    expect(performance.now() - start).toBeLessThan(15_000);
  });

  it('can be of hundreds of thousands of lines, words and values', () => {
    const question = questionOf('\n'.repeat(100_000) + 'p\u0430 '.repeat(100_000), {
      parameters: { text: '\n'.repeat(100_000), list: Array.from({ length: 100_000 }, (_, i) => i) },
    });
    expect(showQuestion(question, PLAIN).length).toBeGreaterThan(300_000);
  });
});

describe('a question as HTML', () => {
  const NASTY = `</pre><script>alert(1)</script><!-- & &lt; &#60; " ' \` javascript:x ]]> </article>`;

  it('is nothing but text where it is not ours', () => {
    const html = questionHtml(
      questionOf(`${NASTY}\n${HOSTILE}`, {
        parameters: { [NASTY]: NASTY },
        policy: { a: [NASTY] },
        runtime: NASTY,
        sandboxId: NASTY,
        id: NASTY,
        hash: NASTY,
        notInspected: NASTY,
        sights: [{ effect: 'deletes_files', name: NASTY, line: 1, why: NASTY, isDangerous: true }],
      }),
    );
    expect(html).toMatch(/^[\n\x20-\x7e]*$/);
    const tags = new Set(html.match(/<\/?[^\s>]*/g));
    expect([...tags].map((tag) => tag.replace(/[</]/g, '')).filter((tag) => !TAGS.includes(tag))).toEqual([]);
    const attributes = [...html.matchAll(/<[a-z0-9]+((?: [^>]*)?)>/g)].flatMap(([, all = '']) =>
      all.split('" '),
    );
    for (const attribute of attributes) {
      expect(attribute.trim()).toMatch(/^$|^(class="[a-z -]+|value="\d+|dir="ltr|translate="no)"?$/);
    }
    expect(textOf(html).split(NASTY)).toHaveLength(11);
  });

  it('holds the whole code, with line numbers outside of the text', () => {
    const code = `a = "<b>"\n\n${'x'.repeat(500)}\u202e\n`;
    const html = questionHtml(questionOf(code));
    const items = [...html.matchAll(/<li value="(\d+)"><pre>(.*?)<\/pre><\/li>/g)];
    expect(items.map(([, number, line = '']) => [number, textOf(line)])).toEqual([
      ['1', 'a = "<b>"'],
      ['2', ''],
      ['3', `${'x'.repeat(500)}⟦U+202E⟧`],
    ]);
    expect(html).toContain('<span class="escape">&#10214;U+202E&#10215;</span>');
    expect(html.match(/<br class="continued">/g)).toHaveLength(3);
  });

  it('says the same as the terminal', () => {
    const question = questionOf('x\n', { notInspected: 'Too long.' });
    const text = textOf(questionHtml(question));
    for (const part of [
      'execute, python',
      'HIGH: Code is run. (rule code)',
      '"pypi.org"',
      'Too long.',
      question.hash,
    ]) {
      expect(text).toContain(part);
    }
  });
});

const TAGS = [
  ...['article', 'section', 'h2', 'h3', 'p', 'dl', 'dt', 'dd', 'ul', 'ol', 'li', 'pre', 'span', 'code', 'br'],
];
