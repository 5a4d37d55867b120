/** Tools from a folder and from MCP servers: found, called through the gate, bounded, and recorded. */

import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { folderTools } from '../../src/agent/folder/folderTools.ts';
import { type ForeignTool, foreignTool } from '../../src/agent/foreignTool.ts';
import { mcpTools } from '../../src/agent/mcp/mcpTools.ts';
import { readServers } from '../../src/agent/mcp/serverConfig.ts';
import { openAgent } from '../../src/agent/openAgent.ts';
import { Gate } from '../../src/gate/approval/gate.ts';
import type { Question } from '../../src/gate/approval/question.ts';
import { presetRules } from '../../src/gate/rules.ts';
import { useHome } from './support/home.ts';
import { scriptedModel } from './support/scriptedModel.ts';
import { testTools } from './support/testTools.ts';

const home = useHome();
const SERVER = join(import.meta.dirname, 'support/mcpServer.ts');
const TSX = join(import.meta.dirname, '../../node_modules/tsx/dist/cli.mjs');

function file(name: string, content: string): string {
  const path = join(home.folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** Asks somebody who says yes to what does not hold the word. */
const unasked = () => ({ env: { ...home.env, SANDBOX_GATE: 'trusted' } });

async function gated(refused: string) {
  const questions: Question[] = [];
  const gate = new Gate({
    rules: presetRules('strict'),
    approvers: [
      {
        name: 'test',
        ask: async (question) => {
          questions.push(question);
          return { approved: !JSON.stringify(question.parameters).includes(refused) };
        },
      },
    ],
  });
  return { questions, context: await home.context({ gate }) };
}

const audit = () => readFileSync(join(home.folder, 'state/glovebox/audit/audit-000000000001.jsonl'), 'utf8');

describe('tools from a folder', () => {
  it('are the documented functions, called with their parameters in order, once the gate lets them', async () => {
    file(
      'tools/weather.mjs',
      `/** The weather of a place.
 * @param {string} place Where.
 * @param {number} [days=1] How many days.
 */
export async function weather(place, days = 1) {
  if (place === 'nowhere') throw new Error('There is no such place.');
  return { place, days };
}
export function undocumented() {}
`,
    );
    file('tools/typed.ts', 'export const x: number = 1;');
    file('tools/notes.txt', 'nothing');
    const { tools, warnings } = await folderTools(join(home.folder, 'tools'));
    expect(warnings).toEqual([
      'typed.ts is left out: tools are read from .mjs and .js files, with types in their comments.',
    ]);
    expect(tools).toMatchObject([{ name: 'weather', description: 'The weather of a place.' }]);

    const { questions, context } = await gated('Atlantis');
    const [weather] = tools.map((tool) => foreignTool(context, tool));
    expect(await weather?.call({ place: 'Bergen' })).toMatchObject({
      isError: false,
      structured: { output: { place: 'Bergen', days: 1 } },
    });
    expect(await weather?.call({ place: 'nowhere' })).toMatchObject({
      isError: true,
      text: 'Error: There is no such place.',
    });
    expect(await weather?.call({ place: 'Atlantis' })).toMatchObject({
      isError: true,
      structured: { error: { code: 'APPROVAL_DENIED' } },
    });
    // Nobody is asked about what cannot be called.
    expect(await weather?.call({ days: 'two' })).toMatchObject({
      structured: { error: { code: 'INPUT_INVALID' } },
    });
    expect(
      questions.map(({ operation, parameters, risk }) => ({ operation, parameters, level: risk.level })),
    ).toEqual(
      ['Bergen', 'nowhere', 'Atlantis'].map((place) => ({
        operation: 'call_tool',
        parameters: {
          tool: 'weather',
          from: `the file ${join(home.folder, 'tools/weather.mjs')}`,
          input: { place },
        },
        level: 'CRITICAL',
      })),
    );
    const ended = audit()
      .split('\n')
      .filter((line) => line.includes('"type":"ended"'));
    expect(ended.map((line) => JSON.parse(line).ok)).toEqual([true, false, false]);
  });

  it('are given to the model, and a name of ours is not taken', async () => {
    file('tools/double.mjs', '/** Doubles. @param x no */\nexport const double = () => "x".repeat(50_000);');
    const scripted = scriptedModel([{ calls: [{ tool: 'double', input: {} }] }, { says: 'Done.' }]);
    const warnings: string[] = [];
    const options = {
      ...{ context: await home.context(unasked()), model: scripted.model, modelName: 'test/m' },
      ...{ memory: join(home.folder, 'memory.json'), toolsFolder: join(home.folder, 'tools') },
      onWarning: (warning: string) => void warnings.push(warning),
    };
    await using agent = await openAgent(options);
    expect(await agent.run('Double')).toEqual({ ended: 'answered', text: 'Done.' });
    const told = scripted.asked[1]?.at(-1)?.text ?? '';
    expect(told).toContain('... (output truncated)');
    expect(told.length).toBeLessThan(17_000);
    expect(warnings).toEqual(['These tools run outside of any sandbox, with all that you may do: double.']);

    file('tools/mine.mjs', '/** Mine. */\nexport const code_execute = () => 1;');
    await expect(openAgent(options)).rejects.toThrow('The tool "code_execute" stands there twice.');
  });

  it('names the file that cannot be loaded, and the folder that is not there', async () => {
    file('broken/throws.mjs', '/** Throws. */\nexport function f() {}\nthrow new Error("at once");');
    await expect(folderTools(join(home.folder, 'broken'))).rejects.toThrow(
      /throws\.mjs cannot be loaded: at once/,
    );
    await expect(folderTools(join(home.folder, 'none'))).rejects.toThrow(
      /The folder of tools cannot be read/,
    );
  });
});

describe('tools of MCP servers', () => {
  it('are called by name through the gate, and say what they say, bounded', async () => {
    const config = file(
      'mcp.json',
      JSON.stringify({
        mcpServers: {
          test: { command: process.execPath, args: [TSX, SERVER], env: { SERVER_TOKEN: 'token-00001' } },
        },
      }),
    );
    const { questions, context } = await gated('secret plan');
    await using servers = await mcpTools(readServers(config));
    const tools = Object.fromEntries(servers.tools.map((tool) => [tool.name, foreignTool(context, tool)]));
    expect(Object.keys(tools)).toEqual(['test__echo', 'test__flood', 'test__fail', 'test__environment']);
    expect(await tools['test__echo']?.call({ text: 'hello' })).toMatchObject({
      isError: false,
      text: 'hello',
    });
    expect((await tools['test__flood']?.call({}))?.text.length).toBeLessThan(17_000);
    expect(await tools['test__fail']?.call({})).toMatchObject({ isError: true, text: 'It failed.' });
    expect(await tools['test__echo']?.call({ text: 'secret plan' })).toMatchObject({
      structured: { error: { code: 'APPROVAL_DENIED' } },
    });
    // What is told of the environment of the server never stands in the record.
    expect((await tools['test__environment']?.call({ about: 'token-00001' }))?.text).toBe('token-00001');
    expect(questions.map(({ parameters }) => parameters['tool'])).toEqual(
      ['echo', 'flood', 'fail', 'echo', 'environment'].map((name) => `test__${name}`),
    );
    expect(audit()).toContain('test__environment');
    expect(audit()).not.toContain('token-00001');
  });

  it('are reached at an address, with the headers that are given', async () => {
    const authorizations = new Set<string | undefined>();
    const handle = toNodeHandler(createMcpHandler(testTools));
    const server = createServer((request, response) => {
      authorizations.add(request.headers.authorization);
      void handle(request as Parameters<typeof handle>[0], response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
      await using servers = await mcpTools({
        far: { url, headers: { Authorization: 'Bearer token-00003' } },
      });
      const context = await home.context(unasked());
      const echo = servers.tools.find(({ name }) => name === 'far__echo') as ForeignTool;
      expect(await foreignTool(context, echo).call({ text: 'hello' })).toMatchObject({ text: 'hello' });
      expect([...authorizations]).toEqual(['Bearer token-00003']);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  it('end the call that nobody waits for', async () => {
    await using servers = await mcpTools({
      test: { command: process.execPath, args: [TSX, SERVER], env: {} },
    });
    const context = await home.context();
    const echo = servers.tools.find(({ name }) => name === 'test__echo');
    const signal = AbortSignal.abort(new Error('enough'));
    expect(await foreignTool(context, echo as ForeignTool).call({ text: 'a' }, { signal })).toMatchObject({
      isError: true,
    });
  });

  it('say which server does not start, and what it said', async () => {
    const dies = ['-e', 'console.error("no token-00002 here"); process.exit(3)'];
    await expect(
      mcpTools({ broken: { command: process.execPath, args: dies, env: { TOKEN: 'token-00002' } } }),
    ).rejects.toThrow(/^The MCP server "broken" does not answer: .* It said: no \[redacted\] here/);
    await expect(mcpTools({ gone: { command: '/no/such/program', args: [], env: {} } })).rejects.toThrow(
      /^The MCP server "gone" does not answer: .*ENOENT/,
    );
    const server: Server = createServer((_request, response) => response.writeHead(401).end('no'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    await expect(mcpTools({ far: { url, headers: {} } })).rejects.toThrow(
      /^The MCP server "far" does not answer: /,
    );
    server.close();
  });

  it('are refused where the file is not as it should be', () => {
    const tries = [
      '{',
      '{}',
      '{"mcpServers":{"a b":{"command":"x"}}}',
      '{"mcpServers":{"a":{"command":"x","disabled":true}}}',
    ];
    for (const content of tries)
      expect(() => readServers(file('mcp.json', content))).toThrow(/cannot be read/);
    expect(readServers(file('mcp.json', '{"mcpServers":{"a":{"url":"https://example.org/mcp"}}}'))).toEqual({
      a: { url: 'https://example.org/mcp', headers: {} },
    });
  });
});
