import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { TerminalTurns } from './terminalTurns.ts';

const TERMINAL = 34_816;

let root: string;
let folder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'turns-test-'));
  folder = join(root, 'terminals');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Those of another command, as it were. */
const turns = (terminal: number | undefined = TERMINAL) => new TerminalTurns(folder, () => terminal);
const never = () => new AbortController().signal;

/** Another process that has the turn until it is killed. */
async function holder() {
  const program = `
    import { TerminalTurns } from ${JSON.stringify(new URL('terminalTurns.ts', import.meta.url).href)};
    const turns = new TerminalTurns(process.argv[1], () => ${TERMINAL});
    await turns.hold(() => new Promise(() => { console.log('has it'); setInterval(() => {}, 1000); }), new AbortController().signal);
  `;
  const args = ['--import', 'tsx', '--input-type=module', '-e', program, folder];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

describe('a turn at a terminal', () => {
  it('is had by one at a time, and is gone afterwards, however it ended', async () => {
    const told: string[] = [];
    const talk = (name: string) => async () => {
      told.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, 150));
      told.push(`${name} ends`);
      throw new Error(name);
    };
    const first = turns().hold(talk('first'), never());
    const second = turns().hold(talk('second'), never());
    await expect(first).rejects.toThrow('first');
    await expect(second).rejects.toThrow('second');
    expect(told).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is not waited for at another terminal, or without one', async () => {
    await turns().hold(async () => {
      expect(await turns(TERMINAL + 1).hold(async () => 'other', never())).toBe('other');
      expect(await new TerminalTurns(folder, () => undefined).hold(async () => 'none', never())).toBe('none');
    }, never());
  });

  it('is kept by a process that stands still, and taken from one that died', async () => {
    const child = await holder();
    child.kill('SIGSTOP');
    const reason = new Error('time is up');
    let talked = false;
    const waiting = turns().hold(
      async () => {
        talked = true;
      },
      AbortSignal.any([AbortSignal.timeout(500)]),
    );
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(turns().hold(async () => {}, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(talked).toBe(false);
    const next = turns().hold(async () => 'talked', never());
    child.kill('SIGKILL');
    expect(await next).toBe('talked');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is waited out by whoever prints there, and by nobody who prints elsewhere', async () => {
    // A device, as a terminal is one.
    const [here, elsewhere] = [openSync('/dev/null', 'w'), openSync('/dev/zero', 'w')];
    onTestFinished(() => [here, elsewhere].forEach(closeSync));
    const told: string[] = [];
    let printing: Promise<unknown> = Promise.resolve();
    await turns(fstatSync(here).rdev).hold(async () => {
      await turns().untilFree(elsewhere);
      printing = turns()
        .untilFree(here)
        .then(() => told.push('printed'));
      await new Promise((resolve) => setTimeout(resolve, 150));
      told.push('answered');
    }, never());
    await printing;
    expect(told).toEqual(['answered', 'printed']);
  });

  it('is taken by one of many when its holder has died', async () => {
    const child = await holder();
    let [now, most] = [0, 0];
    const all = Array.from({ length: 5 }, () =>
      turns().hold(async () => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setTimeout(resolve, 5));
        now--;
      }, never()),
    );
    child.kill('SIGKILL');
    await Promise.all(all);
    expect(most).toBe(1);
  });
});
