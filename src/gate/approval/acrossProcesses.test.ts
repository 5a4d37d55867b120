import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { GrantStore } from './grantStore.ts';
import { Grants } from './grants.ts';
import type { Question } from './question.ts';
import { WaitingRoom } from './waiting.ts';

it('a person answers from one process what others ask, and what was granted there holds for all of them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gate-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const room = new WaitingRoom({ folder: join(folder, 'questions') });
  const grants = new Grants({ keeper: new GrantStore({ folder: join(folder, 'grants') }) });
  const [one, other] = await Promise.all([agent(folder), agent(folder)]);

  const answerWith = async (deciding: Promise<string>, count: number): Promise<string> => {
    const { id, hash } = await nextQuestion(room);
    room.answer(id, hash, { approved: true, grant: { scope: 'exact', count } });
    return deciding;
  };
  expect(await answerWith(one('print(1)'), 3)).toBe('allow person');
  expect(await other('print(1)')).toBe('allow grant');
  expect(await one('print(1)')).toBe('allow grant');
  expect(await answerWith(other('print(1)'), 5)).toBe('allow person');
  expect(await one('print(1)')).toBe('allow grant');

  const [granted] = await grants.list();
  expect(granted).toMatchObject({ givenBy: 'approvals', usesLeft: 3 });
  await grants.revokeAll();
  const again = one('print(1)');
  const { id, hash } = await nextQuestion(room);
  room.answer(id, hash, { approved: false });
  expect(await again).toBe('deny answered');
  for (const name of ['questions', 'grants']) expect(readdirSync(join(folder, name))).toEqual([]);
}, 30_000);

/** Waits until something waits. */
async function nextQuestion(room: WaitingRoom): Promise<Question> {
  for (;;) {
    const [question] = room.list();
    if (question !== undefined) return question;
    await new Promise(setImmediate);
  }
}

/** Another process that asks for what it is told to run, and tells what was decided. */
async function agent(folder: string): Promise<(code: string) => Promise<string>> {
  const url = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
  const program = `
    import { createInterface } from 'node:readline';
    import { join } from 'node:path';
    import { PRESETS } from ${url('../rules.ts')};
    import { Gate } from ${url('./gate.ts')};
    import { Grants } from ${url('./grants.ts')};
    import { GrantStore } from ${url('./grantStore.ts')};
    import { WaitingRoom } from ${url('./waiting.ts')};
    const [folder] = process.argv.slice(1);
    const gate = new Gate({
      rules: PRESETS.strict,
      approvers: [new WaitingRoom({ folder: join(folder, 'questions') })],
      grants: new Grants({ keeper: new GrantStore({ folder: join(folder, 'grants') }) }),
    });
    console.log('ready');
    for await (const line of createInterface({ input: process.stdin })) {
      const code = { language: 'python', bytes: new TextEncoder().encode(line) };
      const proposal = { operation: 'execute', code, parameters: {}, policy: {}, runtime: 'local', sandboxId: null };
      const { verdict, by, reason } = await gate.decide(proposal, []);
      console.log(verdict, by ?? reason);
    }`;
  const args = ['--import', 'tsx', '--input-type=module', '-e', program, folder];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = async (): Promise<string> => String((await once(child.stdout, 'data'))[0]).trim();
  expect(await said()).toBe('ready');
  return (code) => {
    const answer = said();
    child.stdin.write(`${code}\n`);
    return answer;
  };
}
