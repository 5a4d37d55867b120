/** `glovebox agent` as it is used, with a model that listens on this machine. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { missingForTerminals, PseudoTerminal } from '../approval/pseudoTerminal.ts';
import { ensureBuilt, MAIN } from '../e2e/support/build.ts';
import { useCommand } from '../e2e/support/command.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { eventually } from '../support/eventually.ts';
import { type ChatAnswer, type ChatServer, chatServer } from './support/chatServer.ts';

const glovebox = useCommand();

const TSX = join(import.meta.dirname, '../../node_modules/tsx/dist/cli.mjs');
const ENV = { SANDBOX_TYPE: 'bubblewrap', SANDBOX_STORE_CODE: 'never' };
const at = ({ url }: ChatServer) => ['--model', 'openai-compatible/small', '--base-url', url];
const python = (code: string): ChatAnswer => ({ tool: 'code_execute', input: { code, language: 'python' } });
const memory = () => JSON.parse(readFileSync(join(glovebox.folder, 'agent_memory.json'), 'utf8'));
const lines = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describeWith(['bubblewrap'], 'glovebox agent', () => {
  it('solves a task with a model of this machine: steps beside, the answer on standard output', async () => {
    await using server = await chatServer([
      python('print(2 + two)'),
      python('print(2 + 2)'),
      ({ body }) => ({ says: ['It is ', body.messages.at(-1)?.content?.trim() ?? '', '.'] }),
    ]);
    const { status, stdout, stderr } = await glovebox.run(
      ['agent', 'Compute 2 + 2', ...at(server), '--key-variable', 'MY_KEY'],
      { env: { ...ENV, MY_KEY: 'the-key-of-this-server' } },
    );
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'It is 4.\n' });
    expect(stderr).toContain(
      '[1] code_execute {"language":"python"} (1 line, 14 characters)\n  > print(2 + two)\n',
    );
    expect(stderr).toMatch(
      /^ {2}\| Error \(exit_code=1\).*\n(?: {2}\| .*\n)* {2}\| NameError: name 'two' is not defined/m,
    );
    expect(
      server.requests.map(({ authorization, body: { model, stream } }) => ({ authorization, model, stream })),
    ).toEqual(
      Array(3).fill({ authorization: 'Bearer the-key-of-this-server', model: 'small', stream: true }),
    );
    expect(server.requests[0]?.body.tools.map((tool) => tool.function.name)).toContain(
      'code_install_package',
    );
    expect(memory()).toMatchObject({
      executions: [
        { result: { exit_code: 1 } },
        { result: { stdout: '4\n', meta: { runtime: 'bubblewrap' } } },
      ],
      usage: { steps: 3, input_tokens: 150, output_tokens: 15 },
    });
  });

  it('shows nothing of a model or a program that a terminal would obey', async () => {
    await using server = await chatServer([
      python('print("\\x1b[2Jout\\u202e")'),
      { says: ['\u001b]0;title\u0007', 'answer\u202e'] },
    ]);
    const { stdout, stderr } = await glovebox.run(['agent', 'Try\u001b[2J', ...at(server)], { env: ENV });
    expect(stdout).toBe('\\x1b]0;title\\x07answer\\u{202e}\n');
    expect(stderr).toContain('\\x1b[2Jout\\u{202e}');
    expect(`${stdout}${stderr}`).not.toMatch(/[\u001b\u0007\u202e]/);
  });

  it('prints a line of JSON for each event, ends with 124 at its limit, and goes on with --resume', async () => {
    await using server = await chatServer([python('print(1)'), { says: ['Done.'] }]);
    const first = await glovebox.run(['agent', 'Go', ...at(server), '--json', '--max-steps', '1'], {
      env: ENV,
    });
    expect(first.status).toBe(124);
    expect(lines(first.stdout)).toEqual([
      {
        type: 'start',
        task: 'Go',
        model: 'openai-compatible/small',
        resumed: false,
        tools: expect.any(Array),
      },
      { type: 'call', step: 1, tool: 'code_execute', input: { code: 'print(1)', language: 'python' } },
      { type: 'result', step: 1, tool: 'code_execute', is_error: false, text: expect.stringMatching(/^1$/m) },
      { type: 'usage', step: 1, usage: { steps: 1, input_tokens: 50, output_tokens: 5 } },
      { type: 'stopped', limit: 'steps', because: 'The limit of 1 step is reached.' },
    ]);
    const second = await glovebox.run(['agent', '--resume', ...at(server), '--json'], { env: ENV });
    expect({ status: second.status, last: lines(second.stdout).at(-1) }).toEqual({
      status: 0,
      last: { type: 'answer', text: 'Done.', usage: { steps: 2, input_tokens: 100, output_tokens: 10 } },
    });
  });

  it('ends what runs at Ctrl-C, keeps what was, and ends with 130', async () => {
    await using server = await chatServer([python('while True: pass'), { says: ['Never.'] }]);
    const running = await glovebox.start(['agent', 'Spin', ...at(server)], { env: ENV });
    const log = join(glovebox.home, 'state/glovebox/audit/audit-000000000001.jsonl');
    await eventually(
      'the program is started',
      () => existsSync(log) && readFileSync(log, 'utf8').includes('"started"'),
    );
    process.kill(running.pid, 'SIGINT');
    const { status, stdout, stderr } = await running.finished;
    expect({ status, stdout }).toEqual({ status: 130, stdout: '' });
    expect(stderr).toContain('glovebox: cancelled');
    expect(memory()).toMatchObject({
      executions: [{ code: 'while True: pass', result: { outcome: 'cancelled' } }],
    });
    expect(server.requests).toHaveLength(1);
  });

  it('asks nobody where there is no terminal, and the model goes on with the refusal', async () => {
    glovebox.file(
      'settings.yaml',
      `security: { sandbox: { hitl: { rules: [{ id: quick, description: Tried., tools: [code_execute], level: CRITICAL, ask: true,
        timeout_sec: 1, when: [{ findings: [dangerous] }], examples: { matching: [{ findings: [{ effect: deletes_files, dangerous: true }] }] } }] } } }\n`,
    );
    await using server = await chatServer([
      python('import shutil\nshutil.rmtree("/nowhere", ignore_errors=True)\nprint("ran")'),
      { says: ['It was denied.'] },
    ]);
    const { status, stdout, stderr } = await glovebox.run(
      ['agent', 'Delete', ...at(server), '--config', 'settings.yaml'],
      { env: ENV },
    );
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'It was denied.\n' });
    expect(stderr).toMatch(/has 1 seconds to answer, at a terminal: glovebox approvals answer [0-9a-f]{16}/);
    expect(server.requests[1]?.body.messages.at(-1)?.content).toContain('nobody answered within 1 seconds');
    expect(memory().executions).toMatchObject([
      { is_error: true, result: { outcome: 'denied', stdout: '' } },
    ]);
  });

  it('uses the functions of a folder and the tools of MCP servers, and says loudly that they run outside', async () => {
    glovebox.file(
      'tools/greet.mjs',
      "/** Greets. @param nobody */\nexport const greet = () => 'hello from ' + process.pid;",
    );
    const server = {
      command: process.execPath,
      args: [TSX, join(import.meta.dirname, 'support/mcpServer.ts')],
    };
    glovebox.file('mcp.json', JSON.stringify({ mcpServers: { test: server } }));
    await using chat = await chatServer([
      { tool: 'greet', input: {} },
      { tool: 'test__echo', input: { text: 'echoed' } },
      { says: ['Done.'] },
    ]);
    const running = await glovebox.start(
      ['agent', 'Go', ...at(chat), '--tools', 'tools', '--mcp', 'mcp.json'],
      { env: { ...ENV, SANDBOX_GATE: 'trusted' } },
    );
    const { status, stderr } = await running.finished;
    expect(status).toBe(0);
    expect(stderr).toContain(
      'glovebox: warning: These tools run outside of any sandbox, with all that you may do: greet, test__echo,',
    );
    expect(memory().executions).toMatchObject([
      { tool: 'greet', result: { output: `hello from ${running.pid}` } },
      { tool: 'test__echo', result: { output: 'echoed' } },
    ]);
  });

  const missing = missingForTerminals();
  it.skipIf(missing !== undefined)(
    `asks on its terminal${missing === undefined ? '' : ` (skipped: ${missing})`}`,
    async () => {
      await ensureBuilt();
      await using server = await chatServer([python('print("r" + "an")'), { says: ['It ran.'] }]);
      const { home, temporary, folder } = glovebox;
      const variables = Object.entries({
        ...{ HOME: home, XDG_STATE_HOME: join(home, 'state'), XDG_CONFIG_HOME: join(home, 'config') },
        ...{ XDG_CACHE_HOME: join(home, 'cache'), TMPDIR: temporary, ...ENV, SANDBOX_GATE: 'strict' },
      }).map(([name, value]) => `${name}=${value}`);
      const command = [process.execPath, MAIN, 'agent', 'Print', ...at(server)];
      await using terminal = await PseudoTerminal.open('env', '-C', folder, ...variables, ...command);
      await terminal.shows('s left)? ');
      expect(terminal.screen).toContain('print("r" + "an")');
      terminal.type('y\r');
      expect(await terminal.printed()).toContain('It ran.');
      expect(memory().executions).toMatchObject([{ is_error: false, result: { stdout: 'ran\n' } }]);
    },
  );
});

describe('glovebox agent that cannot begin', () => {
  it('says what to set where there is no key', async () => {
    const { status, stdout, stderr } = await glovebox.run(['agent', 'Compute 2 + 2']);
    expect({ status, stdout, stderr }).toEqual({
      status: 125,
      stdout: '',
      stderr:
        'glovebox: There is no model to ask: none of ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY is set.\n' +
        '  Set one of them to your key, or use a model of this machine: --model openai-compatible/NAME --base-url http://127.0.0.1:11434/v1\n',
    });
  });

  it('does not ask a model for what no sandbox here could run', async () => {
    await using server = await chatServer([{ says: ['Never.'] }]);
    const { status, stderr } = await glovebox.run(
      ['agent', 'Go', ...at(server), '--min-isolation', 'machine'],
      {
        env: { SANDBOX_TYPE: 'local' },
      },
    );
    expect({ status, stderr, asked: server.requests.length }).toEqual({
      ...{ status: 125, asked: 0 },
      stderr: expect.stringMatching(/^glovebox: .*machine/),
    });
  });

  it('says what the model said where it refuses, and never the key', async () => {
    await using server = await chatServer([{ status: 401, message: 'The key secret-key-0001 is wrong.' }]);
    const { status, stdout } = await glovebox.run(
      ['agent', 'Go', ...at(server), '--key-variable', 'MY_KEY', '--json'],
      { env: { ...ENV, MY_KEY: 'secret-key-0001' } },
    );
    expect(status).toBe(125);
    expect(lines(stdout).at(-1)).toEqual({
      error: {
        code: 'MODEL_FAILED',
        message: 'The model did not answer: The key [redacted] is wrong.',
        hint: 'Check the key: the provider does not accept it.',
        details: { status: 401 },
      },
    });
  });

  it('names the limits, models and memories that cannot be used', async () => {
    const tries = [
      [['Go', '--max-cost-usd', '1'], 'A limit in dollars needs the prices of the model'],
      [['Go', '--max-steps', '0'], 'A limit of 0 steps cannot be held.'],
      [['Go', '--price-in', '1'], 'One of the two prices is missing.'],
      [['Go', '--model', 'openai-compatible/x'], 'The model "openai-compatible/x" needs an address.'],
      [['Go', '--model', 'gpt'], '"gpt" is no model.'],
      [
        ['--resume', '--model', 'openai-compatible/x', '--base-url', 'http://127.0.0.1:9'],
        'There is nothing to go on with',
      ],
      [['--model', 'openai-compatible/x', '--base-url', 'http://127.0.0.1:9'], 'There is no task.'],
    ] as const;
    for (const [args, message] of tries) {
      const { status, stderr } = await glovebox.run(['agent', ...args]);
      expect({ status, stderr }).toEqual({ status: 125, stderr: expect.stringContaining(message) });
    }
  });
});
