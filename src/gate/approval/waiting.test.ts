import { type ChildProcess, spawn } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { askPeople } from './ask.ts';
import { newId } from './ids.ts';
import { type Answer, type Proposal, proposalHash, type Question } from './question.ts';
import { questionToJson } from './questionJson.ts';
import { WaitingRoom } from './waiting.ts';
import { WaitingPlace } from './waitingPlace.ts';

let root: string;
let folder: string;
let warnings: string[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'waiting-test-'));
  folder = join(root, 'approvals');
  warnings = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function question({ timeoutSec = 60, text = 'print("\u202e\u0000")' } = {}): Question {
  const proposal: Proposal = {
    operation: 'execute',
    code: { language: 'python', bytes: new Uint8Array([...new TextEncoder().encode(text), 0xff, 0xfe]) },
    parameters: { b: 1, a: { d: 2, c: [null, 'x'] } },
    policy: { network: 'none' },
    unknownContent: 'Its standard input is a stream.',
    runtime: 'bubblewrap',
    sandboxId: null,
    sandboxInstance: 'one of them',
  };
  const now = Date.now();
  return {
    ...proposal,
    id: newId(),
    hash: proposalHash(proposal),
    sights: [{ effect: 'starts_programs', name: 'os.system', line: 1, why: 'starts', isDangerous: true }],
    risk: { level: 'HIGH', ask: true, timeoutSec, rule: 'code', description: 'Code is run.' },
    askedAt: new Date(now).toISOString(),
    expiresAt: new Date(now + timeoutSec * 1000).toISOString(),
  };
}

/** A room of another process, as it were. */
const room = () => new WaitingRoom({ folder, onWarning: (warning) => warnings.push(warning), pollSec: 0.05 });

const YES: Answer = { approved: true, grant: { scope: 'exact', count: 3 } };
const never = () => new AbortController().signal;

describe('a question that waits', () => {
  it('is shown whole to others, and ends with their answer', async () => {
    const asked = question();
    const asking = room().ask(asked, never());
    expect(room().list()).toEqual([asked]);
    expect(room().read(asked.id)).toEqual(asked);
    const place = join(folder, asked.id);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(place).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(place)) expect(statSync(join(place, name)).mode & 0o777).toBe(0o600);
    room().answer(asked.id, asked.hash, YES);
    await expect(asking).resolves.toEqual(YES);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is found among others by the caller that it is asked for, whom it does not name', async () => {
    let caller: string | undefined = 'first';
    const asker = new WaitingRoom({ folder, pollSec: 0.05, caller: () => caller });
    const [one, two, nobodys] = [question(), question(), question()];
    const leave = new AbortController();
    const asking = [asker.ask(one, leave.signal)];
    caller = 'second';
    asking.push(asker.ask(two, leave.signal));
    caller = undefined;
    asking.push(asker.ask(nobodys, leave.signal));
    expect(room().list('first')).toEqual([one]);
    expect(room().list('second')).toEqual([two]);
    expect(room().list('')).toEqual([]);
    expect(room().list()).toHaveLength(3);
    expect(questionToJson(room().read(one.id))).not.toContain('first');
    leave.abort();
    await Promise.allSettled(asking);
  });

  it('is told of its answer by the system, long before it would look for one', async () => {
    const asked = question();
    const asking = new WaitingRoom({ folder, pollSec: 3600 }).ask(asked, never());
    // It has looked once, and found none.
    await new Promise(setImmediate);
    room().answer(asked.id, asked.hash, YES);
    await expect(asking).resolves.toEqual(YES);
  });

  it('is found by looking, where the system does not tell of the answer', async () => {
    const asked = question();
    const asking = room().ask(asked, never());
    // Another folder comes in the place of the one that is watched, and all is told of that one before it is answered.
    const place = join(folder, asked.id);
    const watcher = watch(place);
    onTestFinished(() => watcher.close());
    const told = once(watcher, 'change');
    cpSync(place, join(root, 'copy'), { recursive: true });
    rmSync(place, { recursive: true });
    cpSync(join(root, 'copy'), place, { recursive: true });
    await told;
    await new Promise(setImmediate);
    room().answer(asked.id, asked.hash, YES);
    await expect(asking).resolves.toEqual(YES);
  });

  it('takes the first answer alone', async () => {
    const asked = question();
    const asking = room().ask(asked, never());
    room().answer(asked.id, asked.hash, { approved: false, reason: 'no' });
    expect(room().list()).toEqual([]);
    expect(() => room().answer(asked.id, asked.hash, YES)).toThrow(
      expect.objectContaining({ code: 'APPROVAL_EXPIRED' }),
    );
    await expect(asking).resolves.toEqual({ approved: false, reason: 'no' });
  });

  it('takes the first of those who have read it at the same time', async () => {
    const asked = question();
    const asking = room().ask(asked, never());
    const place = new WaitingPlace(folder, asked.id);
    expect(place.give(asked.hash, { approved: false })).toBe('given');
    expect(place.give(asked.hash, YES)).toBe('answered_before');
    await expect(asking).resolves.toEqual({ approved: false });
    expect(place.give(asked.hash, YES)).toBe('gone');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('takes no answer for something else', async () => {
    const asked = question();
    const controller = new AbortController();
    const asking = room().ask(asked, controller.signal);
    const other = proposalHash({ ...asked, code: { language: 'python', bytes: new Uint8Array([1]) } });
    expect(() => room().answer(asked.id, other, YES)).toThrow(
      expect.objectContaining({
        code: 'APPROVAL_EXPIRED',
        hint: expect.stringContaining(`glovebox approvals show ${asked.id}`),
      }),
    );
    expect(room().list()).toEqual([asked]);
    controller.abort();
    await expect(asking).rejects.toThrow();
  });

  it.each<[string, unknown]>([
    ['for another hash', { hash: '0'.repeat(64), answer: YES }],
    ['without a hash', { answer: YES }],
    ['for nothing', null],
    ['that is none', { answer: { approved: 'yes' } }],
  ])('takes an answer that was forged %s for a no', async (_, forged) => {
    const asked = question();
    const asking = room().ask(asked, never());
    const text = JSON.stringify(
      forged !== null && (forged as { answer: unknown }).answer !== YES
        ? { hash: asked.hash, ...(forged as object) }
        : forged,
    );
    writeFileSync(join(folder, asked.id, 'answer.json'), text, { mode: 0o600 });
    await expect(asking).resolves.toMatchObject({ approved: false });
  });

  it('takes an answer that others may have written for a no', async () => {
    const asked = question();
    const path = join(root, 'answer');
    writeFileSync(path, JSON.stringify({ hash: asked.hash, answer: YES }));
    chmodSync(path, 0o666);
    const asking = room().ask(asked, never());
    renameSync(path, join(folder, asked.id, 'answer.json'));
    await expect(asking).resolves.toMatchObject({ approved: false });
  });

  it('is gone at once when the signal comes, and when somebody took it away', async () => {
    const controller = new AbortController();
    const asking = room().ask(question(), controller.signal);
    expect(readdirSync(folder)).toHaveLength(1);
    controller.abort();
    expect(readdirSync(folder)).toEqual([]);
    await expect(asking).rejects.toThrow();
    await expect(room().ask(question(), controller.signal)).rejects.toThrow();
    expect(readdirSync(folder)).toEqual([]);
    const removed = question();
    const again = room().ask(removed, never());
    rmSync(join(folder, removed.id), { recursive: true });
    await expect(again).rejects.toThrow(/taken away/);
  });

  it('leaves no timer, no watch and no listener, however it ended', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const watches = () =>
      process.getActiveResourcesInfo().filter((name) => name.startsWith('FSEvent')).length;
    // One that was closed is gone some turns later; one that was not never is.
    const unwatched = async () => {
      while (watches() > 0) await new Promise(setImmediate);
    };
    await unwatched();
    const { signal } = new AbortController();
    const [answered, left] = [question(), new AbortController()];
    const asking = [room().ask(answered, signal), room().ask(question(), left.signal)];
    expect([vi.getTimerCount(), watches()]).toEqual([2, 2]);
    room().answer(answered.id, answered.hash, YES);
    left.abort();
    await Promise.allSettled(asking);
    await unwatched();
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(getEventListeners(left.signal, 'abort')).toEqual([]);
  });

  it('is one of several approvers', async () => {
    const asked = question({ timeoutSec: 1 });
    const outcome = askPeople(asked, [room()]);
    await expect(outcome).resolves.toMatchObject({ ended: 'no_answer' });
    expect(readdirSync(folder)).toEqual([]);
    expect(() => room().answer(asked.id, asked.hash, YES)).toThrow(
      expect.objectContaining({ code: 'APPROVAL_EXPIRED', hint: expect.stringContaining('approvals') }),
    );
  });

  it('cannot be answered when its time is up, though its asker has not noticed', async () => {
    const asked = question();
    const controller = new AbortController();
    const asking = room().ask(asked, controller.signal);
    const later = new WaitingRoom({ folder, clock: () => Date.parse(asked.expiresAt) });
    expect(later.list()).toEqual([]);
    expect(() => later.answer(asked.id, asked.hash, YES)).toThrow(/waits/);
    controller.abort();
    await expect(asking).rejects.toThrow();
  });

  it('has an id of ours, and one that no other has', async () => {
    const asked = question();
    const controller = new AbortController();
    for (const id of ['../../x', '', 'x'.repeat(16), `${asked.id}/..`, 'ABCDEF0123456789'])
      await expect(room().ask({ ...asked, id }, never())).rejects.toThrow(/id/);
    const asking = room().ask(asked, controller.signal);
    await expect(room().ask(asked, never())).rejects.toThrow();
    expect(room().list()).toEqual([asked]);
    controller.abort();
    await expect(asking).rejects.toThrow();
  });

  it('is not asked where it cannot be written down as it is', async () => {
    const asked = question();
    const wrong = { ...asked, hash: '0'.repeat(64) };
    await expect(room().ask(wrong, never())).rejects.toThrow(/written down/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is not asked in a folder that others may use', async () => {
    mkdirSync(folder, { mode: 0o755 });
    await expect(room().ask(question(), never())).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(() => room().list()).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});

describe('whoever answers', () => {
  it.each(['../../etc', 'a/b', '', '0123456789abcde', '0123456789abcdeF'])('names an id, not %j', (id) => {
    const refused = expect.objectContaining({ code: 'INPUT_INVALID' });
    expect(() => room().read(id)).toThrow(refused);
    expect(() => room().answer(id, '', YES)).toThrow(refused);
  });

  it('is told when nothing of this id waits', () => {
    expect(() => room().read('0123456789abcdef')).toThrow(
      expect.objectContaining({ code: 'APPROVAL_EXPIRED' }),
    );
    expect(existsSync(folder)).toBe(false);
  });

  it('gives a yes or a no that can be understood', async () => {
    const asked = question();
    const controller = new AbortController();
    const asking = room().ask(asked, controller.signal);
    const bad = { approved: true, grant: { scope: 'exact', count: 0 } } as Answer;
    expect(() => room().answer(asked.id, asked.hash, bad)).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID' }),
    );
    expect(room().list()).toHaveLength(1);
    controller.abort();
    await expect(asking).rejects.toThrow();
  });

  it.each<[string, (text: string, asked: Question) => string]>([
    [
      'another byte',
      (_, asked) => questionToJson({ ...asked, code: { language: 'python', bytes: new Uint8Array(3) } }),
    ],
    ['another policy', (_, asked) => questionToJson({ ...asked, policy: { network: 'open' } })],
    ['half of it', (text) => text.slice(0, -50)],
    ['a sight that is none', (_, asked) => questionToJson({ ...asked, sights: [null as never] })],
    ['much nesting', () => '['.repeat(100_000)],
    ['another id', (_, asked) => questionToJson({ ...asked, id: '0123456789abcdef' })],
  ])('is not shown what has %s', async (_, change) => {
    const asked = question();
    const controller = new AbortController();
    const asking = room().ask(asked, controller.signal);
    const path = join(folder, asked.id, 'question.json');
    writeFileSync(path, change(readFileSync(path, 'utf8'), asked));
    const reader = room();
    expect(reader.list()).toEqual([]);
    expect(() => reader.read(asked.id)).toThrow(expect.objectContaining({ code: 'APPROVAL_EXPIRED' }));
    expect(() => reader.answer(asked.id, asked.hash, YES)).toThrow();
    expect(warnings).toEqual([expect.stringMatching(/does not count: /)]);
    controller.abort();
    await expect(asking).rejects.toThrow();
  });
});

describe('among processes', () => {
  it('a question is answered, and those of others wait on', async () => {
    const [asker, other] = await Promise.all([started(), started()]);
    const asked = room().read(asker.id);
    expect(room().list()).toHaveLength(2);
    const said = asker.said();
    room().answer(asked.id, asked.hash, YES);
    expect(await said).toBe(JSON.stringify(YES));
    await asker.exit;
    expect(room().list()).toMatchObject([{ id: other.id }]);
  }, 30_000);

  it('a question of one that was killed cannot be answered, and goes', async () => {
    const asker = await started();
    const asked = room().read(asker.id);
    asker.child.kill('SIGKILL');
    await asker.exit;
    expect(readdirSync(folder)).toEqual([asked.id]);
    expect(() => room().answer(asked.id, asked.hash, YES)).toThrow(
      expect.objectContaining({ code: 'APPROVAL_EXPIRED' }),
    );
    // The next who asks takes it away, as one who lists does.
    const controller = new AbortController();
    const asking = room().ask(question(), controller.signal);
    expect(existsSync(join(folder, asked.id))).toBe(false);
    controller.abort();
    await expect(asking).rejects.toThrow();
    expect(readdirSync(folder)).toEqual([]);
  }, 30_000);

  it('what one left in the middle of coming or going is taken away after a minute', () => {
    mkdirSync(folder, { mode: 0o700 });
    for (const name of ['coming', 'going']) mkdirSync(join(folder, `${name}-${newId()}`));
    mkdirSync(join(folder, 'something of the user'));
    expect(room().list()).toEqual([]);
    expect(readdirSync(folder)).toHaveLength(3);
    const then = Date.now() / 1000 - 61;
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), then, then);
    expect(room().list()).toEqual([]);
    expect(readdirSync(folder)).toEqual(['something of the user']);
  });
});

interface Asker {
  readonly id: string;
  readonly child: ChildProcess;
  readonly exit: Promise<unknown>;
  said(): Promise<string>;
}

/** Another process that asks, and says what was answered. */
async function started(): Promise<Asker> {
  const url = JSON.stringify(new URL('./waiting.ts', import.meta.url).href);
  const parse = JSON.stringify(new URL('./questionJson.ts', import.meta.url).href);
  const code = `
    import { WaitingRoom } from ${url};
    import { questionFromJson } from ${parse};
    const [folder, question] = process.argv.slice(1);
    const asking = new WaitingRoom({ folder }).ask(questionFromJson(question), new AbortController().signal);
    console.log('asks');
    console.log(JSON.stringify(await asking));`;
  const asked = question();
  const args = ['--import', 'tsx', '--input-type=module', '-e', code, folder, questionToJson(asked)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = async (): Promise<string> => String((await once(child.stdout, 'data'))[0]).trim();
  expect(await said()).toBe('asks');
  return { id: asked.id, child, exit, said };
}
