/** A person is asked: at the client where it can, else where the user answers. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Approvals } from '../../src/operations/approvals.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { call, useMcp } from './support.ts';

const STRICT = { env: { SANDBOX_GATE: 'strict' } };
const CODE = { code: 'print(6 * 7)' };
const decide = (decision: string) => () => ({ action: 'accept', content: { decision } });

describeWith(['bubblewrap'], 'a call that needs a person', () => {
  const world = useMcp();

  describe.each(['stdio', 'HTTP'])('over %s', (way) => {
    const connect = async (person?: (message: string) => unknown, mode: 'legacy' | 'auto' = 'legacy') => {
      const options = { mode, ...(person === undefined ? {} : { person }) };
      const server = { ...STRICT, flags: ['--patience', '1'] };
      if (way === 'stdio') return (await world.overStdio(server, options)).client;
      return world.connect(await world.listen(server), options);
    };

    it.each(['legacy', 'auto'] as const)('is asked about in the client (%s)', async (mode) => {
      const shown: string[] = [];
      const decisions = ['approve this once', 'deny'];
      const client = await connect((message) => {
        shown.push(message);
        return decide(decisions.shift() ?? '')();
      }, mode);
      expect(await call(client, 'code_execute', CODE)).toMatchObject({ isError: false, text: '42' });
      const denied = await call(client, 'code_execute', CODE);
      expect(denied).toMatchObject({ isError: true, structured: { outcome: 'denied', ok: false } });
      expect(shown).toEqual(Array(2).fill(expect.stringMatching(/print\(6 \* 7\).*Hash +[0-9a-f]{64}/s)));
    });

    it('says where it is answered when the client cannot ask, and goes on once it was', async () => {
      const client = await connect();
      mkdirSync(join(world.folder, 'state', 'glovebox'), { recursive: true });
      writeFileSync(
        join(world.folder, 'state', 'glovebox', 'serve.json'),
        JSON.stringify({ url: 'http://secret@127.0.0.1:1/?key=secret', pid: process.pid }),
      );
      const pending = await call(client, 'code_execute', CODE);
      const approvals = await Approvals.open({ env: world.env, cwd: world.folder }, () => {});
      const [question] = approvals.waiting();
      if (question === undefined) throw new Error('Nothing waits.');
      const command = `glovebox approvals answer ${question.id}`;
      const address = `http://127.0.0.1:1/approvals/${question.id}`;
      expect(pending).toMatchObject({
        isError: true,
        structured: {
          ...{ status: 'approval_pending', error: { code: 'APPROVAL_PENDING' } },
          answer_with: { command, console: address },
        },
        text: expect.stringMatching(
          new RegExp(`at ${address}, or in a terminal of their own with: ${command}$`),
        ),
      });
      expect(JSON.stringify(pending)).not.toContain('secret');
      approvals.answer(question, { approved: true });
      expect(await call(client, 'code_execute', CODE)).toMatchObject({ isError: false, text: '42' });
      // Once: the same again is asked again.
      expect(await call(client, 'code_execute', CODE)).toMatchObject({ isError: true });
    });
  });

  it('cannot be approved by what the model passes along', async () => {
    const { client } = await world.overStdio({ ...STRICT, flags: ['--patience', '1'] });
    for (const extra of [{ approved: true }, { decision: 'approve this once' }, { approval: 'yes' }]) {
      expect(await call(client, 'code_execute', { ...CODE, ...extra })).toMatchObject({
        ...{ isError: true, structured: { error: { code: 'INPUT_INVALID' } } },
      });
    }
  });

  it('of one session is not approved by a yes to another', async () => {
    const server = await world.listen({ ...STRICT, flags: ['--patience', '1'] });
    const generous = await world.connect(server, {
      person: decide('approve, and exactly this again in this session for an hour'),
    });
    const other = await world.connect(server);
    for (let i = 0; i < 2; i++) {
      expect(await call(generous, 'code_execute', CODE)).toMatchObject({ isError: false });
    }
    expect(await call(other, 'code_execute', CODE)).toMatchObject({
      ...{ isError: true, structured: { status: 'approval_pending' } },
    });
  });
});
