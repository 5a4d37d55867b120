/** An agent at work: the official client calls every tool, over each transport and each revision of the protocol. */
import type { Client } from '@modelcontextprotocol/client';
import { expect, it } from 'vitest';
import { describeWith } from '../e2e/support/needs.ts';
import { pythonIndex, serve, wheel } from '../support/packageIndexes.ts';
import {
  type ClientOptions,
  call,
  type McpWorld,
  type ServerOptions,
  settingsFile,
  useMcp,
} from './support.ts';

/** A package that draws: the smallest picture there is. */
const DRAWING = wheel('drawing', '1.0.0', {
  'drawing.py': `
import struct, zlib
class Chart:
    def _repr_png_(self):
        part = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
        head = struct.pack('>IIBBBBB', 1, 1, 8, 2, 0, 0, 0)
        return b'\\x89PNG\\r\\n\\x1a\\n' + part(b'IHDR', head) + part(b'IDAT', zlib.compress(b'\\0\\0\\0\\0')) + part(b'IEND', b'')
`,
});

type Connect = (world: McpWorld, server: ServerOptions, client: ClientOptions) => Promise<Client>;
const overStdio: Connect = async (world, ...options) => (await world.overStdio(...options)).client;
const overHttp: Connect = async (world, server, client) => world.connect(await world.listen(server), client);

const WAYS = [
  { name: 'stdio', connect: overStdio, mode: 'legacy' },
  { name: 'stdio of 2026', connect: overStdio, mode: 'auto' },
  { name: 'HTTP', connect: overHttp, mode: 'legacy' },
  { name: 'HTTP of 2026', connect: overHttp, mode: 'auto' },
] as const;

/** Whoever installs from a registry that is not one of the usual ones is asked. */
const person = () => ({ action: 'accept', content: { decision: 'approve this once' } });

describeWith(['bubblewrap'], 'the tools', () => {
  const world = useMcp();

  it.each(WAYS)('are called in one kept sandbox: $name', async ({ connect, mode }) => {
    const index = await serve(pythonIndex(DRAWING));
    const network = {
      host_map: { 'index.test': index.endpoint },
      allowed_registries: { pypi: ['http://index.test/simple'] },
    };
    const config = settingsFile(world.folder, { network, store_code: 'never', runtime: 'bubblewrap' });
    const client = await connect(world, { flags: ['--config', config] }, { mode, person });

    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...['code_execute', 'code_install_package', 'code_write_file'],
      ...['code_read_file', 'code_list_files', 'code_destroy_sandbox'],
    ]);

    const wrote = await call(client, 'code_write_file', { path: 'data.csv', content: '1\n2\n3\n' });
    expect(wrote).toMatchObject({ isError: false, structured: { path: 'data.csv', size: 6 } });
    const { sandbox_id } = wrote.structured;
    const run = (code: string) => call(client, 'code_execute', { code, sandbox_id });

    expect(await run("rows = [int(row) for row in open('data.csv')]\nprint(sum(rows))")).toMatchObject({
      structured: { ok: true, stdout: '6\n', sandbox_id },
    });
    expect(await run('rows[-1]')).toMatchObject({ structured: { results: [{ type: 'result', text: '3' }] } });
    expect(await call(client, 'code_install_package', { package: 'drawing', sandbox_id })).toMatchObject({
      isError: false,
      structured: { ok: true, version: '1.0.0' },
    });
    const { content } = await run('import drawing\ndrawing.Chart()');
    expect(content).toContainEqual({
      ...{ type: 'image', mimeType: 'image/png', data: expect.stringMatching(/^iVBORw0KGgo/) },
    });

    await run("open('a b#1.txt', 'w').write('kept')");
    expect(await call(client, 'code_read_file', { path: 'a b#1.txt', sandbox_id })).toMatchObject({
      ...{ text: 'kept', structured: { content: 'kept' } },
    });
    const listed = await call(client, 'code_list_files', { sandbox_id });
    expect(listed.text).toContain('data.csv (6 bytes)');

    const { resources } = await client.listResources();
    const ofFile = resources.find(({ name }) => name === 'a b#1.txt');
    expect((await client.readResource({ uri: ofFile?.uri ?? '' })).contents).toMatchObject([
      { text: 'kept' },
    ]);

    const long = await run("print('x' * 100_000)");
    const link = long.content.find((part) => part.type === 'resource_link');
    const page = await client.readResource({ uri: `${link?.uri}?offset=65536` });
    expect(page.contents).toEqual([
      expect.objectContaining({
        text: `${'x'.repeat(100_000 - 65_536)}\n`,
        _meta: expect.objectContaining({ total_bytes: 100_001, ended: true }),
      }),
    ]);

    expect(await call(client, 'code_destroy_sandbox', { sandbox_id })).toMatchObject({
      structured: { destroyed: true, sandbox_id },
    });
    expect(await run('1')).toMatchObject({
      isError: true,
      structured: { error: { code: 'SANDBOX_NOT_FOUND' } },
    });
    await expect(client.readResource({ uri: ofFile?.uri ?? '' })).rejects.toThrow('not found');
    expect((await client.listResources()).resources).toEqual([]);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual([
      ...['analyze_data', 'fix_failing_test'],
    ]);
  });
});
