import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { isSandboxError } from '../errors.ts';
import { Gate } from '../gate/approval/gate.ts';
import type { Proposal } from '../gate/approval/question.ts';
import { presetRules } from '../gate/rules.ts';
import type { Tool, ToolAnswer, ToolCallOptions } from '../operations/tools/tool.ts';
import { ElicitationApprover } from './approval/elicitationApprover.ts';
import { type AgentTools, Session } from './session.ts';

const RUN: Tool = {
  ...{ name: 'code_execute', title: 'Run code', description: 'Runs code.' },
  input: z.object({ code: z.string() }),
  output: z.object({ stdout: z.string() }),
  annotations: {
    ...{ readOnlyHint: false, destructiveHint: true },
    ...{ idempotentHint: false, openWorldHint: false },
  },
};

type Work = (code: string, options: ToolCallOptions) => Promise<ToolAnswer>;

function done(stdout: string): ToolAnswer {
  return { text: stdout, structured: { stdout }, pictures: [], isError: false };
}

interface Surroundings {
  readonly mode: 'legacy' | 'auto';
  /** What the person at the client does; without it the client cannot ask anybody. */
  readonly person?: (message: string) => unknown;
  readonly work?: Work;
  readonly patienceSec?: number;
  /** The test answers questions itself. */
  readonly isManual?: boolean;
}

/** A client, a session in the same process, and a gate that asks about everything. */
async function connect(surroundings: Surroundings) {
  const { mode, person, work = async (code) => done(code), patienceSec, isManual = false } = surroundings;
  const approver = new ElicitationApprover();
  const ran: string[] = [];
  const gate = new Gate({ rules: presetRules('strict'), approvers: [approver] });
  const decide = async (code: string, { signal }: ToolCallOptions): Promise<ToolAnswer | undefined> => {
    const proposal: Proposal = {
      ...{ operation: 'execute', code: { language: 'python', bytes: Buffer.from(code) } },
      ...{ parameters: {}, policy: {}, runtime: 'local', sandboxId: null },
    };
    const options = { signal, patienceSec };
    const { verdict, because } = await gate.decide(proposal, [], options);
    if (verdict === 'allow') return undefined;
    return { ...done(''), text: because, structured: failure('APPROVAL_DENIED', because), isError: true };
  };
  const toolbox: AgentTools = {
    async call(_name, input, options = {}) {
      const { code } = RUN.input.parse(input) as { code: string };
      try {
        const refused = code.startsWith('free') ? undefined : await decide(code, options);
        if (refused !== undefined) return refused;
      } catch (error) {
        if (!isSandboxError(error)) throw error;
        return { ...done(''), text: error.message, structured: error.toJSON(), isError: true };
      }
      ran.push(code);
      return work(code, options);
    },
    sandboxes: () => [],
    sandbox: () => {
      throw new Error('none');
    },
    close: async () => {},
  };
  const session = new Session({
    tools: [RUN],
    toolbox,
    approver,
    consoleAddress: async () => 'http://console',
  });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const handle = serveStdio(({ era }) => session.server(era), { transport: ours });
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: person === undefined ? {} : { elicitation: {} },
      versionNegotiation: { mode },
      inputRequired: { autoFulfill: !isManual },
    },
  );
  const shown: string[] = [];
  if (person !== undefined) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      shown.push(params.message);
      return (await person(params.message)) as { action: 'accept' };
    });
  }
  await client.connect(theirs);
  onTestFinished(async () => {
    await client.close();
    await session.close();
    await handle.close();
  });
  const call = (code: string) => client.callTool({ name: 'code_execute', arguments: { code } });
  return { client, call, ran, shown };
}

function failure(code: string, message: string) {
  return { error: { code, message, hint: 'none', details: {} } };
}

const text = (value: string) => [{ type: 'text', text: value }];
const accept = (decision: unknown) => () => ({ action: 'accept', content: { decision } });
const ERAS = [{ mode: 'legacy' as const }, { mode: 'auto' as const }];

describe.each(ERAS)('a session with a client ($mode)', ({ mode }) => {
  it('tells the tools with their schemas, and that an answer may be a refusal', async () => {
    const { client } = await connect({ mode });
    const { tools } = await client.listTools();
    expect(tools).toEqual([
      expect.objectContaining({
        ...{ name: 'code_execute', title: 'Run code', description: 'Runs code.' },
        annotations: RUN.annotations,
        inputSchema: expect.objectContaining({ type: 'object', required: ['code'] }),
        outputSchema: expect.objectContaining({
          type: 'object',
          anyOf: [expect.anything(), expect.anything()],
        }),
      }),
    ]);
  });

  it('answers with text, pictures, links and what is structured', async () => {
    const work: Work = async () => ({
      ...done('hello'),
      structured: { stdout: 'hello', stderr: '', meta: { stdout_bytes: 99, stderr_bytes: 0 } },
      pictures: [{ mimeType: 'image/png', data: 'aGk=' }],
      kept: { sandboxId: 's1', executionId: 'e1' },
    });
    const { call } = await connect({ mode, work });
    const { content, structuredContent, isError } = await call('free');
    expect({ structuredContent, isError }).toMatchObject({
      structuredContent: { stdout: 'hello' },
      isError: false,
    });
    expect(content).toEqual([
      { type: 'text', text: 'hello' },
      { type: 'image', mimeType: 'image/png', data: 'aGk=' },
      expect.objectContaining({
        ...{ type: 'resource_link', uri: 'glovebox://sandboxes/s1/executions/e1/stdout' },
      }),
    ]);
  });

  it('lets a person approve what is shown whole, and it runs once', async () => {
    const { call, ran, shown } = await connect({ mode, person: accept('approve this once') });
    expect(await call('print(1)')).toMatchObject({ content: text('print(1)'), isError: false });
    expect(ran).toEqual(['print(1)']);
    expect(shown).toEqual([expect.stringContaining('print(1)')]);
    await call('print(1)');
    expect(shown).toHaveLength(2);
  });

  it('asks no second time about exactly what was approved for longer, and again about something else', async () => {
    const again = accept('approve, and exactly this again in this session for an hour');
    const { call, ran, shown } = await connect({ mode, person: again });
    for (const code of ['print(1)', 'print(1)', 'print(2)']) await call(code);
    expect(ran).toEqual(['print(1)', 'print(1)', 'print(2)']);
    expect(shown).toHaveLength(2);
  });

  it.each([
    ['deny', accept('deny')],
    ['decline', () => ({ action: 'decline' })],
    ['cancel', () => ({ action: 'cancel' })],
    ['an answer that was not offered', accept('yes')],
    [
      'more than an answer',
      () => ({ action: 'accept', content: { decision: 'approve this once', also: 'x' } }),
    ],
    ['an answer without content', () => ({ action: 'accept' })],
  ])('runs nothing after %s', async (_name, person) => {
    const { call, ran, shown } = await connect({ mode, person });
    expect(await call('print(1)')).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'APPROVAL_DENIED' } },
    });
    expect(ran).toEqual([]);
    expect(shown).toHaveLength(1);
  });

  it('says where a person can answer when the client cannot ask, and does not ask it', async () => {
    const { call, ran } = await connect({ mode, patienceSec: 0.01 });
    const { isError, structuredContent, content } = await call('print(1)');
    // There is no other way to a person in this test: nobody could be asked at all.
    expect({ isError, structuredContent }).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'APPROVAL_DENIED' } },
    });
    expect(content).toHaveLength(1);
    expect(ran).toEqual([]);
  });

  it('does not ask in a window about what is too long for one', async () => {
    const { call, ran, shown } = await connect({ mode, person: accept('approve this once') });
    expect(await call(`print(1)\n${'#\n'.repeat(1000)}`)).toMatchObject({ isError: true });
    expect({ ran, shown }).toEqual({ ran: [], shown: [] });
  });

  it('ends a call that the client cancels', async () => {
    let begun = (): void => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const ended = new Promise<string>((resolve) => {
      void connect({
        mode,
        work: (_code, { signal }) => {
          begun();
          return new Promise((answer) => {
            signal?.addEventListener('abort', () => {
              resolve('ended');
              answer(done('cancelled'));
            });
          });
        },
      }).then(async ({ client }) => {
        const controller = new AbortController();
        const called = client
          .callTool({ name: 'code_execute', arguments: { code: 'free' } }, { signal: controller.signal })
          .catch(() => {});
        await hasBegun;
        controller.abort();
        await called;
      });
    });
    expect(await ended).toBe('ended');
  });

  it('notes the newest output while the call goes on, safe to show', async () => {
    let noted = (): void => {};
    const hasNoted = new Promise<void>((resolve) => {
      noted = resolve;
    });
    const work: Work = async (_code, { onOutput }) => {
      const chunk = 'line 1\n\u001b[31mred\u202e';
      await onOutput?.({ stream: 'stdout', text: chunk, bytes: Buffer.from(chunk) });
      await hasNoted;
      return done('');
    };
    const { client } = await connect({ mode, work });
    const notes: unknown[] = [];
    await client.callTool(
      { name: 'code_execute', arguments: { code: 'free' } },
      {
        onprogress: (note) => {
          notes.push(note);
          noted();
        },
      },
    );
    expect(notes).toEqual([{ progress: 18, message: 'line 1\n\\u{1b}[31mred\\u{202e}' }]);
  });

  it('lets no more than 32 calls go on at a time, and more again when one has ended', async () => {
    const ends: (() => void)[] = [];
    const { call } = await connect({
      mode,
      work: (code) => new Promise((answer) => ends.push(() => answer(done(code)))),
    });
    const calls = Array.from({ length: 32 }, () => call('free'));
    expect(await call('free')).toMatchObject({
      ...{ isError: true, structuredContent: { error: { code: 'QUOTA_EXCEEDED' } } },
    });
    expect(ends).toHaveLength(32);
    for (const end of ends) end();
    await Promise.all(calls);
    const last = call('free');
    await vi.waitFor(() => expect(ends).toHaveLength(33));
    ends.at(-1)?.();
    expect(await last).toMatchObject({ isError: false });
  });

  it('goes on after a tool that does not exist', async () => {
    const { client, call } = await connect({ mode });
    await expect(client.callTool({ name: 'nothing', arguments: {} })).rejects.toThrow('nothing');
    expect(await call('free')).toMatchObject({ isError: false });
  });
});

const MANUAL = { mode: 'auto', isManual: true, person: () => undefined } as const;

describe('an answer that comes with another call', () => {
  it('does not count for something else than what was asked about', async () => {
    const { client, ran } = await connect(MANUAL);
    const asked = await raw(client, { name: 'code_execute', arguments: { code: 'print(1)' } });
    const yes = { approval: { action: 'accept', content: { decision: 'approve this once' } } };
    const changed = await raw(client, {
      ...{ name: 'code_execute', arguments: { code: 'print(2)' } },
      ...{ inputResponses: yes, requestState: asked['requestState'] },
    });
    expect(changed).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'APPROVAL_EXPIRED' } },
    });
    const late = await raw(client, {
      ...{ name: 'code_execute', arguments: { code: 'print(1)' } },
      ...{ inputResponses: yes, requestState: asked['requestState'] },
    });
    expect(late).toMatchObject({ isError: true, structuredContent: { error: { code: 'APPROVAL_EXPIRED' } } });
    expect(ran).toEqual([]);
  });

  it('counts once for exactly that, and is needed again after it', async () => {
    const { client, ran } = await connect(MANUAL);
    const call = { name: 'code_execute', arguments: { code: 'print(1)' } };
    const asked = await raw(client, call);
    const yes = { approval: { action: 'accept', content: { decision: 'approve this once' } } };
    const answered = { ...call, inputResponses: yes, requestState: asked['requestState'] };
    expect(await raw(client, answered)).toMatchObject({ isError: false });
    expect(await raw(client, answered)).toMatchObject({ isError: true });
    expect(await raw(client, { ...call, inputResponses: yes })).toMatchObject({
      resultType: 'input_required',
    });
    expect(ran).toEqual(['print(1)']);
  });

  it('is used where it came after the call had given up waiting', async () => {
    const { client, ran } = await connect({
      ...MANUAL,
      patienceSec: 0.01,
    });
    const call = { name: 'code_execute', arguments: { code: 'print(1)' } };
    const asked = await raw(client, call);
    const yes = { approval: { action: 'accept', content: { decision: 'approve this once' } } };
    const answered = await raw(client, { ...call, inputResponses: yes, requestState: asked['requestState'] });
    expect(answered).toMatchObject({ isError: false });
    expect(ran).toEqual(['print(1)']);
  });
});

/** One request, without what the client does by itself to answer questions. */
async function raw(client: Client, params: Record<string, unknown>): Promise<Record<string, unknown>> {
  return client.request({ method: 'tools/call', params }, z.looseObject({}), { allowInputRequired: true });
}
