/** The loop with a model that follows a script, in real sandboxes. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { AgentEvent } from '../../src/agent/event.ts';
import { type AgentOptions, openAgent } from '../../src/agent/openAgent.ts';
import { Gate } from '../../src/gate/approval/gate.ts';
import { presetRules } from '../../src/gate/rules.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { eventually } from '../support/eventually.ts';
import { useHome } from './support/home.ts';
import { keptSandbox, type Line, type ScriptedModel, scriptedModel } from './support/scriptedModel.ts';

const home = useHome();

const python = (code: string, sandboxId?: string): NonNullable<Line['calls']>[number] => ({
  tool: 'code_execute',
  input: { language: 'python', code, ...(sandboxId === undefined ? {} : { sandbox_id: sandboxId }) },
});

/** One pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

type Run = { readonly task?: string; readonly resume?: boolean; readonly signal?: AbortSignal };

/** Runs an agent and resolves to how it ended, with all that was told of it. */
async function run(
  { model }: ScriptedModel,
  { task, resume, signal }: Run,
  options: Partial<AgentOptions> = {},
) {
  const events: AgentEvent[] = [];
  const agent = await openAgent({
    ...{ context: options.context ?? (await home.context()), model, modelName: 'test/scripted' },
    memory: join(home.folder, 'agent_memory.json'),
    ...options,
    onEvent: async (event) => {
      events.push(event);
      await options.onEvent?.(event);
    },
  });
  try {
    const end = await agent.run(task, {
      ...(resume === undefined ? {} : { resume }),
      ...(signal === undefined ? {} : { signal }),
    });
    return { end, events };
  } finally {
    await agent[Symbol.asyncDispose]();
  }
}

/** All that stands in the audit log. */
function recorded(): string {
  const log = join(home.folder, 'state/glovebox/audit/audit-000000000001.jsonl');
  return existsSync(log) ? readFileSync(log, 'utf8') : '';
}

const memory = () => JSON.parse(readFileSync(join(home.folder, 'agent_memory.json'), 'utf8'));

describeWith(['bubblewrap'], 'an agent', () => {
  it('writes code, sees its error, repairs it and answers', async () => {
    const scripted = scriptedModel([
      { says: 'I compute it.', calls: [python('print(2 + two)')] },
      { calls: [python('print(2 + 2)')] },
      { says: 'It is 4.' },
    ]);
    const { end, events } = await run(scripted, { task: 'Compute 2 + 2' });
    expect(end).toEqual({ ended: 'answered', text: 'It is 4.' });
    expect(scripted.asked.map((told) => told.at(-1)?.text)).toEqual([
      'Compute 2 + 2',
      expect.stringContaining("NameError: name 'two' is not defined"),
      expect.stringMatching(/^4$/m),
    ]);
    expect(events.map(({ type }) => type)).toEqual([
      'start',
      'thought',
      'call',
      'result',
      'usage',
      'call',
      'result',
      'usage',
      'answer',
    ]);
    expect(memory()).toMatchObject({
      version: 1,
      task: 'Compute 2 + 2',
      model: 'test/scripted',
      messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'tool' }, {}, {}, { role: 'assistant' }],
      executions: [
        {
          tool: 'code_execute',
          code: 'print(2 + two)',
          language: 'python',
          is_error: false,
          result: { exit_code: 1 },
        },
        {
          code: 'print(2 + 2)',
          result: {
            stdout: '4\n',
            ok: true,
            meta: { runtime: 'bubblewrap', enforced: { isolation: 'namespace' } },
          },
        },
      ],
      usage: { steps: 3, input_tokens: 300, output_tokens: 30 },
    });
    expect(statSync(join(home.folder, 'agent_memory.json')).mode & 0o777).toBe(0o600);
  });

  it('goes three steps that depend on each other in one kept sandbox, which is gone afterwards', async () => {
    const scripted = scriptedModel([
      { calls: [{ tool: 'code_write_file', input: { path: 'data.csv', content: 'a,1\nb,2\nc,39\n' } }] },
      (told) => ({
        calls: [
          python(
            'total = sum(int(line.split(",")[1]) for line in open("data.csv"))\nopen("total.txt", "w").write(str(total))',
            keptSandbox(told),
          ),
        ],
      }),
      (told) => ({
        calls: [{ tool: 'code_read_file', input: { path: 'total.txt', sandbox_id: keptSandbox(told) } }],
      }),
      (told) => ({ says: `The sum is ${told.at(-1)?.text}.` }),
    ]);
    const { end } = await run(scripted, { task: 'Sum the numbers' });
    expect(end).toEqual({ ended: 'answered', text: 'The sum is 42.' });
    const { executions } = memory();
    expect(executions.map(({ tool, is_error }: never) => ({ tool, is_error }))).toEqual([
      { tool: 'code_write_file', is_error: false },
      { tool: 'code_execute', is_error: false },
      { tool: 'code_read_file', is_error: false },
    ]);
    const resumed = scriptedModel([
      (told) => ({ calls: [python('print(1)', keptSandbox(told))] }),
      (told) => ({ says: told.at(-1)?.text ?? '' }),
    ]);
    const { end: later } = await run(resumed, { task: 'And again', resume: true });
    expect(later).toMatchObject({ text: expect.stringContaining('SANDBOX_NOT_FOUND') });
  });

  it('calls one tool of several in a step, and tells the others to wait', async () => {
    const scripted = scriptedModel([
      { calls: [python('print("first")'), python('print("second")')] },
      { says: 'Done.' },
    ]);
    const { events } = await run(scripted, { task: 'Both' });
    expect(events.filter(({ type }) => type === 'call')).toHaveLength(1);
    expect(events).toContainEqual({ type: 'not_called', step: 1, tools: ['code_execute'] });
    expect(memory().executions.map(({ code }: { code: string }) => code)).toEqual(['print("first")']);
    expect(scripted.asked[1]?.slice(-2).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^first$/m),
      expect.stringMatching(/^Not called: one tool at a time/),
    ]);
  });

  it('shows a chart once to a model that sees, and keeps it nowhere', async () => {
    const hex = Buffer.from(PIXEL, 'base64').toString('hex');
    const draws = `class Chart:\n    def _repr_png_(self):\n        return bytes.fromhex("${hex}")\nChart()`;
    const script = [{ calls: [python(draws, 'new')] }, { calls: [python('print(1)')] }, { says: 'Seen.' }];
    const shown = async (seesPictures: boolean) => {
      const scripted = scriptedModel(script);
      await run(scripted, { task: 'Draw' }, { seesPictures });
      expect(readFileSync(join(home.folder, 'agent_memory.json'), 'utf8')).not.toContain(PIXEL);
      return scripted.model.doStreamCalls.map(({ prompt }) => JSON.stringify(prompt).includes(PIXEL));
    };
    expect({ sees: await shown(true), blind: await shown(false) }).toEqual({
      sees: [false, true, false],
      blind: [false, false, false],
    });
  });

  it('answers a tool that is not there, arguments that are no JSON and arguments that do not fit', async () => {
    const scripted = scriptedModel([
      { calls: [{ tool: 'no_such_tool', input: {} }] },
      { calls: [{ tool: 'code_execute', input: '{"code": ' }] },
      { calls: [{ tool: 'code_execute', input: { kode: '1' } }] },
      { says: 'I give up.' },
    ]);
    const { end } = await run(scripted, { task: 'Try' });
    expect(end).toEqual({ ended: 'answered', text: 'I give up.' });
    expect(scripted.asked.slice(1).map((told) => told.at(-1)?.text.slice(0, 21))).toEqual(
      Array(3).fill('Error (INPUT_INVALID)'),
    );
  });

  it('is told that a person said no, and nothing has run', async () => {
    const gate = new Gate({
      rules: presetRules('strict'),
      approvers: [
        {
          name: 'test',
          ask: async ({ code }) => ({ approved: Buffer.from(code?.bytes ?? []).includes('yes') }),
        },
      ],
    });
    const scripted = scriptedModel([
      { calls: [python('print("no")')] },
      { calls: [python('print("yes")')] },
      { says: 'One of them ran.' },
    ]);
    await run(scripted, { task: 'Try' }, { context: await home.context({ gate }) });
    expect(
      memory().executions.map(({ is_error, result }: never) => [
        is_error,
        (result as { outcome: string }).outcome,
      ]),
    ).toEqual([
      [true, 'denied'],
      [false, 'exited'],
    ]);
  });

  it('ends the running program when it is cancelled, and can be resumed', async () => {
    const controller = new AbortController();
    const scripted = scriptedModel([
      { calls: [python('print("begins", flush=True)\nwhile True: pass')] },
      { says: 'never' },
    ]);
    const onEvent = (event: AgentEvent) => {
      if (event.type !== 'call') return;
      void eventually('the program is started', () => recorded().includes('"type":"started"')).then(() =>
        controller.abort(new Error('enough')),
      );
    };
    await expect(run(scripted, { task: 'Spin', signal: controller.signal }, { onEvent })).rejects.toThrow(
      'enough',
    );
    expect(scripted.asked).toHaveLength(1);
    expect(memory()).toMatchObject({
      messages: [{}, { role: 'assistant' }, { role: 'tool' }],
      executions: [{ result: { outcome: 'cancelled' } }],
      usage: { steps: 1 },
    });

    const goesOn = scriptedModel([{ says: 'Now it is done.' }]);
    const { end } = await run(goesOn, { resume: true });
    expect(end).toEqual({ ended: 'answered', text: 'Now it is done.' });
    expect(goesOn.asked[0]?.at(-1)?.text).toContain('This conversation was interrupted.');
    expect(memory()).toMatchObject({ task: 'Spin', usage: { steps: 2, input_tokens: 200 } });
    await expect(run(goesOn, { resume: true })).rejects.toThrow('The task in the memory has been answered.');
  });

  it('stops at a limit of steps, of tokens and of dollars, and goes on with the next run', async () => {
    const endless = () =>
      scriptedModel(Array<Line>(9).fill({ calls: [{ tool: 'no_such_tool', input: {} }] }));
    const because = async (limits: NonNullable<AgentOptions['limits']>) => {
      const scripted = endless();
      const { end } = await run(scripted, { task: 'Never' }, { limits });
      return [scripted.asked.length, end];
    };
    expect(await because({ maxSteps: 2 })).toEqual([
      2,
      { ended: 'stopped', limit: 'steps', because: 'The limit of 2 steps is reached.' },
    ]);
    expect(await because({ maxTokens: 300 })).toEqual([
      3,
      { ended: 'stopped', limit: 'tokens', because: '330 tokens were used; the limit is 300.' },
    ]);
    expect(await because({ maxCostUsd: 0.0005, prices: { input: 3, output: 15 } })).toEqual([
      2,
      { ended: 'stopped', limit: 'cost', because: '$0.0009 were spent; the limit is $0.0005.' },
    ]);
    const { end } = await run(
      scriptedModel([{ says: 'At last.' }]),
      { resume: true },
      { limits: { maxSteps: 1 } },
    );
    expect(end).toEqual({ ended: 'answered', text: 'At last.' });
  });

  it('refuses a limit of tokens that it cannot hold, where the model does not say how many it used', async () => {
    const silent = { says: 'Hello.', used: null };
    const limits = { maxTokens: 1000 };
    await expect(run(scriptedModel([silent]), { task: 'Say hello' }, { limits })).rejects.toThrow(
      /does not say how many tokens/,
    );
    await expect(run(scriptedModel([silent]), { task: 'Say hello' })).resolves.toMatchObject({
      end: { ended: 'answered' },
    });
  });

  it('does not replace a file that is no memory, and says what is wrong with a damaged one', async () => {
    const path = join(home.folder, 'agent_memory.json');
    const refusals = [
      ['{ "name": "a-package" }', /is damaged, or no memory of an agent \(version\)/],
      ['{ "version": 2 }', /its version is 2, not 1/],
      ['not json', /is damaged/],
      [
        '{"version":1,"task":"t","model":"m","messages":[{"role":"nobody","content":"x"}],"executions":[],"usage":{"steps":0,"input_tokens":0,"output_tokens":0}}',
        /is damaged \(messages\.0\)/,
      ],
    ] as const;
    for (const [content, message] of refusals) {
      writeFileSync(path, content, { mode: 0o600 });
      for (const resume of [false, true])
        await expect(run(scriptedModel([]), { task: 'Hello', resume })).rejects.toThrow(message);
      expect(readFileSync(path, 'utf8')).toBe(content);
    }
  });

  it('fails where the model nests what it gives so deeply that nobody could keep it', async () => {
    const input = JSON.parse(`${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`);
    const model = scriptedModel([{ calls: [{ tool: 'code_execute', input }] }]);
    await expect(run(model, { task: 'Nest.' })).rejects.toMatchObject({
      ...{ code: 'MODEL_FAILED', message: expect.stringContaining('nested too deeply') },
    });
    expect(memory().messages).toEqual([{ role: 'user', content: 'Nest.' }]);
  });

  it('keeps no secret: not the key, and not what looks like one', async () => {
    const key = 'my-very-own-key-000111';
    const scripted = scriptedModel([
      { calls: [python(`print("${key}")\nprint("ghp_${'a1B2'.repeat(9)}")\nprint("kept")`)] },
      { says: `The key is ${key}.` },
    ]);
    await run(scripted, { task: `Print ${key}` }, { secrets: [key] });
    const text = readFileSync(join(home.folder, 'agent_memory.json'), 'utf8');
    expect({ key: text.includes(key), token: text.includes('ghp_'), kept: text.includes('kept') }).toEqual({
      ...{ key: false, token: false, kept: true },
    });
  });

  it('fails with what the model said where it cannot be asked, and keeps what was before', async () => {
    const scripted = scriptedModel([{ calls: [python('print(1)')] }]);
    await expect(run(scripted, { task: 'Go' })).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('The script is over.'),
    });
    expect(memory().executions).toHaveLength(1);
    const empty = scriptedModel([{ says: '' }]);
    await expect(run(empty, { resume: true })).rejects.toThrow('The model ended without an answer (stop).');
  });
});
