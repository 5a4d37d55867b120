/** The tools of an agent, in real sandboxes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Gate } from '../../src/gate/approval/gate.ts';
import type { Answer, Question } from '../../src/gate/approval/question.ts';
import { presetRules } from '../../src/gate/rules.ts';
import { createContext } from '../../src/operations/context.ts';
import { SandboxManager } from '../../src/operations/sandboxManager.ts';
import type { ToolAnswer } from '../../src/operations/tools/tool.ts';
import { TOOLS, Toolbox } from '../../src/operations/tools/toolbox.ts';
import { describeWith } from '../e2e/support/needs.ts';

let folder: string;
let env: Record<string, string>;
const open: AsyncDisposable[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolbox-test-'));
  env = {
    ...{ PATH: process.env['PATH'] ?? '', SANDBOX_PYTHON: '/usr/bin/python3', SANDBOX_TYPE: 'bubblewrap' },
    ...{ XDG_STATE_HOME: join(folder, 'state'), XDG_CONFIG_HOME: join(folder, 'config') },
    ...{ SANDBOX_STORE_CODE: 'never', HOME: folder },
  };
});
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Wish {
  readonly settings?: Record<string, string>;
  readonly answer?: (question: Question, signal: AbortSignal) => Promise<Answer>;
  readonly manager?: SandboxManager;
  readonly patienceSec?: number;
}

async function toolbox({ settings = {}, answer, manager, patienceSec }: Wish = {}): Promise<Toolbox> {
  const gate =
    answer && new Gate({ rules: presetRules('strict'), approvers: [{ name: 'test', ask: answer }] });
  const context = await createContext({
    ...{ surface: 'mcp', cwd: folder, env: { ...env, ...settings } },
    ...(gate === undefined ? {} : { gate }),
    ...(patienceSec === undefined ? {} : { patienceSec }),
  });
  const box = new Toolbox({ context, ...(manager === undefined ? {} : { manager }) });
  open.push(box);
  return box;
}

/** The answer of a call, which must be what the tool promises. */
async function call(box: Toolbox, name: string, input: unknown): Promise<ToolAnswer> {
  const answer = await box.call(name, input);
  if (!answer.isError) TOOLS.find((tool) => tool.name === name)?.output.parse(answer.structured);
  return answer;
}

const idOf = ({ structured }: ToolAnswer): string => String(structured['sandbox_id']);
const codeOf = ({ structured }: ToolAnswer): string => (structured['error'] as { code: string }).code;

describeWith(['bubblewrap'], 'the tools of an agent', () => {
  it('run a program once, with nothing kept', async () => {
    const box = await toolbox();
    const answer = await call(box, 'code_execute', { code: 'print(6 * 7)' });
    expect(answer).toMatchObject({
      ...{ text: '42', isError: false, pictures: [] },
      structured: {
        ok: true,
        stdout: '42\n',
        meta: { enforced: { isolation: 'namespace', network: 'none' } },
      },
    });
    expect(box.sandboxes()).toEqual([]);
  });

  it('keep variables and files in one sandbox', async () => {
    const box = await toolbox();
    const id = idOf(await call(box, 'code_execute', { code: 'x = 20', sandbox_id: 'new' }));
    const wrote = await call(box, 'code_write_file', { path: 'data/n.txt', content: '22', sandbox_id: id });
    expect(wrote.structured).toMatchObject({ path: 'data/n.txt', size: 2, sandbox_id: id });
    const sum = await call(box, 'code_execute', {
      ...{ code: "x + int(open('data/n.txt').read())", sandbox_id: id },
    });
    expect(sum.structured).toMatchObject({ results: [{ type: 'result', text: '42' }], sandbox_id: id });
    expect(sum.text).toMatch(/^\(no output\)\n\[result\] 42\n\[sandbox_id: /);
    const shell = await call(box, 'code_execute', {
      ...{ language: 'shell', code: 'cat data/n.txt', sandbox_id: id },
    });
    expect(shell.structured).toMatchObject({ stdout: '22' });
    const text = await call(box, 'code_read_file', { path: 'data/n.txt', sandbox_id: id });
    expect(text.structured).toMatchObject({ content: '22', encoding: 'utf8', truncated: false });
    const listed = await call(box, 'code_list_files', { sandbox_id: id });
    const names = (listed.structured['files'] as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['data']));
    await call(box, 'code_destroy_sandbox', { sandbox_id: id });
    expect(codeOf(await call(box, 'code_list_files', { sandbox_id: id }))).toBe('SANDBOX_NOT_FOUND');
  });

  it('say that the state is lost where a program ended its interpreter, and go on', async () => {
    const box = await toolbox();
    const id = idOf(await call(box, 'code_execute', { code: 'x = 1', sandbox_id: 'new' }));
    const gone = await call(box, 'code_execute', { code: 'import os; os._exit(3)', sandbox_id: id });
    expect(gone.text).toContain('The variables of this language are lost');
    const after = await call(box, 'code_execute', { code: 'x', sandbox_id: id });
    expect(after.structured).toMatchObject({ ok: false, error: { name: 'NameError' } });
  });

  it('tell bad arguments with what they take', async () => {
    const box = await toolbox();
    const wrong: [string, unknown][] = [
      ['code_execute', {}],
      ['code_execute', { code: 1 }],
      ['code_execute', { code: '1', sandbox: 'x' }],
      ['code_execute', { code: '1', timeout: 0 }],
      ['code_execute', { code: '1', language: 'ruby' }],
      ['code_write_file', { path: 'a', content: '%%%', encoding: 'base64' }],
      ['code_read_file', { path: 'a' }],
      ['code_list_files', null],
      ['rm', {}],
    ];
    for (const [name, input] of wrong) {
      const answer = await box.call(name, input);
      expect([name, answer.isError, codeOf(answer)]).toEqual([name, true, 'INPUT_INVALID']);
    }
    expect(box.sandboxes()).toEqual([]);
  });

  it('know only sandboxes of their own agent', async () => {
    await using manager = new SandboxManager();
    const [one, other] = [await toolbox({ manager }), await toolbox({ manager })];
    const id = idOf(await call(one, 'code_write_file', { path: 'a', content: 'secret' }));
    for (const name of ['code_read_file', 'code_list_files', 'code_destroy_sandbox'] as const) {
      const input = name === 'code_read_file' ? { path: 'a', sandbox_id: id } : { sandbox_id: id };
      expect([name, codeOf(await other.call(name, input))]).toEqual([name, 'SANDBOX_NOT_FOUND']);
    }
    expect(codeOf(await other.call('code_execute', { code: '1', sandbox_id: id }))).toBe('SANDBOX_NOT_FOUND');
    expect(other.sandboxes()).toEqual([]);
    await other.close();
    expect((await call(one, 'code_read_file', { path: 'a', sandbox_id: id })).text).toBe('secret');
  });

  it('only tighten what the operator has set', async () => {
    const box = await toolbox({ settings: { SANDBOX_TIMEOUT_SEC: '1', SANDBOX_GATE: 'off' } });
    const answer = await call(box, 'code_execute', {
      ...{ code: 'while True: pass', timeout: 600, network_enabled: true, allowed_domains: ['example.org'] },
    });
    expect(answer.structured).toMatchObject({
      ...{ outcome: 'timed_out', exit_code: -1 },
      meta: { enforced: { network: 'none', limits: { timeout_sec: { value: 1 } } } },
    });
    expect(answer.text).toContain('cut to 1 s');
    expect(answer.text).toContain('The operator does not allow');
  });

  it('cut what is too long, and say where the whole of it is', async () => {
    const box = await toolbox();
    const answer = await call(box, 'code_execute', {
      ...{ code: 'for i in range(100000): print(i)', sandbox_id: 'new' },
    });
    expect(Buffer.byteLength(answer.text)).toBeLessThan(17 * 1024);
    expect(answer.text).toContain('588890 bytes in all');
    const { sandboxId, executionId } = answer.kept as { sandboxId: string; executionId: string };
    const page = box.sandbox(sandboxId).output(executionId, { offset: 588_884 });
    expect(page.text).toBe('99999\n');
    const large = await call(box, 'code_execute', {
      ...{ code: "open('l', 'w').write('x' * 100000)", sandbox_id: sandboxId },
    });
    expect(large.isError).toBe(false);
    const read = await call(box, 'code_read_file', { path: 'l', sandbox_id: sandboxId });
    expect(read.structured).toMatchObject({ size: 100_000, truncated: true });
    expect(read.text.length).toBeLessThan(17 * 1024);
  });

  it('leave nothing where a person said no', async () => {
    const box = await toolbox({
      answer: async ({ operation }) => ({ approved: operation === 'create_sandbox' }),
    });
    const once = await call(box, 'code_execute', { code: 'print(1)' });
    expect([once.isError, once.structured['outcome']]).toEqual([true, 'denied']);
    const kept = await call(box, 'code_execute', { code: 'print(1)', sandbox_id: 'new' });
    expect([kept.isError, kept.structured['outcome']]).toEqual([true, 'denied']);
    expect(codeOf(await call(box, 'code_write_file', { path: 'a', content: '' }))).toBe('APPROVAL_DENIED');
    expect(box.sandboxes()).toEqual([]);
  });

  it('answer while a person still thinks, and go on with the same call in the same sandbox', async () => {
    const questions: Question[] = [];
    const answers: ((answer: Answer) => void)[] = [];
    const box = await toolbox({
      patienceSec: 0.2,
      answer: async (question) => {
        if (question.operation === 'create_sandbox') return { approved: true };
        questions.push(question);
        return new Promise((resolve) => answers.push(resolve));
      },
    });
    const input = { code: 'print(6 * 7)', sandbox_id: 'new' };
    const pending = await call(box, 'code_execute', input);
    expect(pending).toMatchObject({
      isError: true,
      structured: { status: 'approval_pending', error: { code: 'APPROVAL_PENDING' } },
    });
    expect(pending.text).toContain(`glovebox approvals answer ${questions[0]?.id}`);
    answers[0]?.({ approved: true });
    const answer = await call(box, 'code_execute', input);
    expect([answer.structured['stdout'], box.sandboxes().length]).toEqual(['42\n', 1]);
    const again = await call(box, 'code_execute', { ...input, sandbox_id: idOf(answer) });
    expect(again.structured).toMatchObject({ status: 'approval_pending' });
  });

  it('answer no more than a conversation holds, whatever a program shows, raises or names', async () => {
    const box = await toolbox();
    const id = idOf(await call(box, 'code_execute', { code: '', sandbox_id: 'new' }));
    const run = (code: string) => call(box, 'code_execute', { code, sandbox_id: id });
    const sizeOf = ({ text, structured }: ToolAnswer): number => (text + JSON.stringify(structured)).length;
    const shown = await run(`class Long:
    def __repr__(self): return 'r' * 9000
    def _repr_html_(self): return 'h' * 9000
for _ in range(50): display(Long())
'the value'`);
    const results = shown.structured['results'] as unknown[];
    expect(results.at(-1)).toMatchObject({ text: "'the value'" });
    expect(shown.structured['results_left_out']).toBe(51 - results.length);
    const raised = await run("raise type('N' * 50_000, (Exception,), {})('e' * 50_000)");
    expect(raised.structured['error']).toMatchObject({ value: expect.stringContaining('truncated') });
    await run(`import os
os.makedirs('d' * 200 + '/' + 'e' * 200)
for i in range(900): open(f"{'d' * 200}/{'e' * 200}/{'f' * 200}{i}", 'w').close()`);
    const path = `${'d'.repeat(200)}/${'e'.repeat(200)}`;
    const listed = await call(box, 'code_list_files', { path, sandbox_id: id });
    expect(listed.structured).toMatchObject({ truncated: true });
    expect((listed.structured['files'] as unknown[]).length).toBeGreaterThan(50);
    for (const answer of [shown, raised, listed]) expect(sizeOf(answer)).toBeLessThan(128 * 1024);
  });

  it('end what runs when the call is cancelled', async () => {
    const box = await toolbox();
    const cancel = new AbortController();
    const answer = await box.call(
      'code_execute',
      { code: 'print("on", flush=True)\nwhile True: pass', timeout: 20 },
      { signal: cancel.signal, onOutput: () => cancel.abort() },
    );
    expect(answer.structured).toMatchObject({ outcome: 'cancelled', stdout: expect.stringMatching(/^on/) });
  });

  it('keep the variables of two programs that begin at once', async () => {
    const box = await toolbox();
    const id = idOf(await call(box, 'code_write_file', { path: 'n', content: '' }));
    const run = (code: string) => call(box, 'code_execute', { code, sandbox_id: id });
    await Promise.all([run('a = 1'), run('b = 2')]);
    expect((await run('a + b')).structured).toMatchObject({ results: [{ text: '3' }] });
  });

  it('bound what a program shows, raises and calls its files, and say what is left out', async () => {
    const box = await toolbox();
    const shown = await call(box, 'code_execute', {
      code: `class Wide:
  def _repr_mimebundle_(self, **k):
    return {t: "x" * 3000 for t in ("text/plain", "text/html", "text/markdown", "text/latex")}
for _ in range(100): display(Wide())
import os
for i in range(900): open(f"{i}-" + "n" * 200, "w").close()
raise ValueError("v" * 300_000)`,
      sandbox_id: 'new',
    });
    const { results, results_left_out: leftOut } = shown.structured as {
      results: [];
      results_left_out: number;
    };
    expect([results.length > 0, results.length + leftOut]).toEqual([true, 100]);
    expect(shown.text).toContain(`\n(${leftOut} more results are left out)\n`);
    expect(JSON.stringify(shown.structured).length).toBeLessThan(256 * 1024);
    const listed = await call(box, 'code_list_files', { sandbox_id: idOf(shown) });
    expect(listed.structured).toMatchObject({ truncated: true });
    expect(JSON.stringify(listed.structured).length).toBeLessThan(160 * 1024);
  });

  it('leave no sandbox behind that nobody knows', async () => {
    await using manager = new SandboxManager();
    const box = await toolbox({ manager });
    const cancel = new AbortController();
    const cancelled = await box.call(
      'code_execute',
      { code: 'print("on", flush=True)\nwhile True: pass', sandbox_id: 'new' },
      { signal: cancel.signal, onOutput: () => cancel.abort() },
    );
    expect([cancelled.structured['outcome'], manager.list()]).toEqual(['cancelled', []]);
    const known = await call(box, 'code_execute', { code: '1', sandbox_id: 'new' });
    expect(manager.list()).toMatchObject([{ id: idOf(known) }]);
    const isBeingMade = call(box, 'code_execute', { code: '1', sandbox_id: 'new' });
    await box.close();
    const late = await call(box, 'code_execute', { code: '1' });
    expect([codeOf(await isBeingMade), codeOf(late), manager.list()]).toEqual([
      ...['SANDBOX_CLOSED', 'SANDBOX_CLOSED'],
      [],
    ]);
  });

  it('go on in both sandboxes where the same call waits twice', async () => {
    const answer = ({ operation }: Question) =>
      operation === 'execute' ? new Promise<never>(() => {}) : Promise.resolve({ approved: true } as const);
    const box = await toolbox({ answer, patienceSec: 0.1 });
    const twice = async () => {
      const input = { code: 'print(1)', sandbox_id: 'new' };
      const answers = await Promise.all([call(box, 'code_execute', input), call(box, 'code_execute', input)]);
      return answers.map(codeOf);
    };
    expect(await twice()).toEqual(['APPROVAL_PENDING', 'APPROVAL_PENDING']);
    const ids = box.sandboxes().map(({ id }) => id);
    expect(ids).toHaveLength(2);
    expect(await twice()).toEqual(['APPROVAL_PENDING', 'APPROVAL_PENDING']);
    expect(box.sandboxes().map(({ id }) => id)).toEqual(ids);
  });

  it('withdraw the question about a new sandbox when the call is cancelled', async () => {
    const cancel = new AbortController();
    const signals: AbortSignal[] = [];
    const answer = (_question: Question, signal: AbortSignal) => {
      signals.push(signal);
      setImmediate(() => cancel.abort());
      return new Promise<never>(() => {});
    };
    const box = await toolbox({ answer, patienceSec: 30 });
    const cancelled = await box.call(
      'code_execute',
      { code: '1', sandbox_id: 'new' },
      { signal: cancel.signal },
    );
    expect([codeOf(cancelled), signals.map(({ aborted }) => aborted)]).toEqual(['APPROVAL_DENIED', [true]]);
  });
});

describeWith(['bubblewrap', 'matplotlib'], 'the tools of an agent that draws', () => {
  it('show charts as pictures', async () => {
    const box = await toolbox();
    const id = idOf(await call(box, 'code_execute', { code: '', sandbox_id: 'new' }));
    const chart = await call(box, 'code_execute', {
      code: 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig("c.png")\nplt.show()',
      sandbox_id: id,
    });
    expect(chart.pictures).toHaveLength(1);
    expect(chart.pictures[0]).toMatchObject({ mimeType: 'image/png' });
    expect(JSON.stringify(chart.structured)).not.toContain(chart.pictures[0]?.data.slice(0, 40));
    const picture = await call(box, 'code_read_file', { path: 'c.png', sandbox_id: id });
    expect([picture.pictures.length, 'content' in picture.structured]).toEqual([1, false]);
  });
});
