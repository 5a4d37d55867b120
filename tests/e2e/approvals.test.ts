/** A person at a terminal, and the commands that wait for one. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { missingForTerminals, PseudoTerminal } from '../approval/pseudoTerminal.ts';
import { eventually } from '../support/eventually.ts';
import { useBackgroundProcesses } from './support/backgroundProcesses.ts';
import { ensureBuilt, MAIN } from './support/build.ts';
import { useCommand } from './support/command.ts';

const glovebox = useCommand();
useBackgroundProcesses(glovebox);

const GATED = { SANDBOX_GATE: 'strict', SANDBOX_LOCAL_ISOLATION: 'none', SANDBOX_STORE_CODE: 'never' };
const missing = missingForTerminals();

/** In a session of its own, without a terminal, as a server or an agent has it. */
const start = (args: readonly string[], env: Record<string, string> = GATED) =>
  glovebox.start(args, { env, deadlineMs: 60_000 });
const run = async (...args: string[]) => (await start(args)).finished;

async function waiting(): Promise<{ id: string; risk: string; operation: string }[]> {
  return JSON.parse((await run('approvals', '--json')).stdout).questions;
}

async function firstWaiting(): Promise<string> {
  let id: string | undefined;
  await eventually('a question waits', async () => {
    id = (await waiting())[0]?.id;
    return id !== undefined;
  });
  return id ?? '';
}

/** The command on a terminal, in the surroundings of the test. */
function atTerminal(args: readonly string[], env: Record<string, string> = GATED): Promise<PseudoTerminal> {
  return onTerminal([process.execPath, MAIN, ...args], env);
}

/** A command line of bash, in which `$@` is glovebox. */
function inShell(script: string): Promise<PseudoTerminal> {
  return onTerminal(['bash', '-c', script, 'bash', process.execPath, MAIN], GATED);
}

async function onTerminal(command: readonly string[], env: Record<string, string>): Promise<PseudoTerminal> {
  await ensureBuilt();
  const { home, temporary, folder } = glovebox;
  const variables = Object.entries({
    ...{ HOME: home, XDG_STATE_HOME: join(home, 'state'), XDG_CONFIG_HOME: join(home, 'config') },
    ...{ XDG_CACHE_HOME: join(home, 'cache'), TMPDIR: temporary },
    ...env,
  }).map(([name, value]) => `${name}=${value}`);
  return PseudoTerminal.open('env', '-C', folder, ...variables, ...command);
}

describe('run with a gate and no terminal', () => {
  it('says where to answer, and is denied when nobody does', async () => {
    const marker = join(glovebox.folder, 'marker');
    // What is critical has 30 seconds, by the clock on the wall.
    const code = `open(${JSON.stringify(marker)}, 'w'); import shutil; shutil.rmtree('/nowhere', ignore_errors=True)`;
    const { status, stdout, stderr, seconds } = await run('run', '--json', '-c', code);
    expect(status).toBe(126);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'denied', exit_code: 1, ok: false });
    expect(stderr).toMatch(
      /A person is asked, and has 30 seconds to answer.*glovebox approvals answer [0-9a-f]{16}\n$/,
    );
    expect(seconds).toBeGreaterThan(29.5);
    expect(existsSync(marker)).toBe(false);
    expect(await waiting()).toEqual([]);
  }, 60_000);

  it('leaves no question when it is ended', async () => {
    const running = await start(['run', '-c', 'print(1)']);
    await firstWaiting();
    process.kill(-running.pid, 'SIGINT');
    expect(await running.finished).toMatchObject({ stdout: '' });
    expect(await waiting()).toEqual([]);
  });

  it('cannot be answered by what is piped in', async () => {
    const running = await start(['run', '-c', 'print(1)']);
    const id = await firstWaiting();
    const answering = await glovebox.start(['approvals', 'answer', id], {
      env: GATED,
      stdin: 'y\nyes\n',
    });
    const { status, stderr } = await answering.finished;
    expect({ status, stderr }).toEqual({ status: 125, stderr: expect.stringMatching(/terminal/) });
    expect((await waiting()).map((question) => question.id)).toEqual([id]);
    process.kill(-running.pid, 'SIGTERM');
    await running.finished;
  });

  it('shows the question whole to whoever looks', async () => {
    const running = await start(['run', '-c', 'print("\u202eshown")  # \u001b[2J']);
    const id = await firstWaiting();
    const { stdout } = await run('approvals', 'show', id);
    expect(stdout).toContain('print("⟦U+202E⟧shown")  # ⟦U+001B⟧[2J');
    expect(stdout).not.toContain('\u001b[2J');
    const { code, policy } = JSON.parse((await run('approvals', 'show', id, '--json')).stdout);
    expect(Buffer.from(code.base64, 'base64').toString()).toBe('print("\u202eshown")  # \u001b[2J');
    expect(policy).toMatchObject({ network: 'none' });
    process.kill(-running.pid, 'SIGTERM');
    await running.finished;
    expect(await run('approvals', 'show', id)).toMatchObject({ status: 125 });
  });
});

describe.skipIf(missing !== undefined)(`at a terminal${missing === undefined ? '' : `: ${missing}`}`, () => {
  it('run asks there, and runs what was approved', async () => {
    await using terminal = await atTerminal(['run', '-c', 'print("r" + "an")']);
    await terminal.shows('s left)? ');
    expect(terminal.screen).toContain('print("r" + "an")');
    terminal.type('y\r');
    expect(await terminal.printed()).toMatch(/\nran\n$/);
  });

  it('run does not run what was refused', async () => {
    await using terminal = await atTerminal(['run', '-c', 'print("r" + "an")']);
    await terminal.shows('s left)? ');
    terminal.type('n\r');
    const printed = await terminal.printed();
    expect(printed).toContain('Nothing was done.');
    expect(printed).not.toMatch(/^ran$/m);
  });

  it('approvals answer lets another process go on, and a grant holds until it is taken back', async () => {
    const first = await start(['run', '-c', 'print(6 * 7)']);
    const id = await firstWaiting();
    await using terminal = await atTerminal(['approvals', 'answer', id]);
    await terminal.shows('s left)? ');
    terminal.type('e\r');
    expect(await terminal.printed()).toBe('Approved.\n');
    expect(await first.finished).toMatchObject({ status: 0, stdout: '42\n' });
    // Exactly this code needs no answer now.
    expect(await run('run', '-c', 'print(6 * 7)')).toMatchObject({ status: 0, stdout: '42\n' });
    const { grants } = JSON.parse((await run('approvals', 'grants', '--json')).stdout);
    expect(grants).toMatchObject([
      { scope: 'exact', operation: 'execute', level: 'HIGH', given_by: 'approvals' },
    ]);
    expect((await run('approvals', 'revoke', grants[0].id)).status).toBe(0);
    expect((await run('approvals', 'grants')).stdout).toBe('Nothing is granted.\n');
    const again = await start(['run', '-c', 'print(6 * 7)']);
    await firstWaiting();
    process.kill(-again.pid, 'SIGTERM');
    await again.finished;
  });

  it('what a sandbox in the background asks is asked where the command was given', async () => {
    const open = { ...GATED, SANDBOX_GATE: 'ask-on-danger' };
    const made = await start(['sandbox', 'create', '--id', 'work'], open);
    expect(await made.finished).toMatchObject({ status: 0 });
    const code = 'import shutil; shutil.rmtree("/nowhere-at-all", ignore_errors=True); print("m" + "ade")';
    await using terminal = await atTerminal(['sandbox', 'exec', 'work', '-c', code], open);
    await terminal.shows('s left)? ');
    terminal.type('n\r');
    const printed = await terminal.printed();
    expect(printed).toContain('Nothing was done.');
    expect(printed).not.toMatch(/^made$/m);
  });

  it('what others ask of the same sandbox is not asked where a program of it prints', async () => {
    const open = { ...GATED, SANDBOX_GATE: 'ask-on-danger' };
    const made = await start(['sandbox', 'create', '--id', 'work'], open);
    expect(await made.finished).toMatchObject({ status: 0 });
    // What it prints would be on the same screen.
    const server = 'import time; print("serving", flush=True); time.sleep(4)';
    await using terminal = await atTerminal(['sandbox', 'exec', 'work', '-c', server], open);
    await eventually('the program runs', async () => {
      const { stdout } = await run('sandbox', 'list', '--json');
      return JSON.parse(stdout).sandboxes.some(({ running }: { running: boolean }) => running);
    });
    const code = 'import shutil; shutil.rmtree("/nowhere-at-all", ignore_errors=True)';
    const others = await start(['sandbox', 'exec', 'work', '-c', code], open);
    const id = await firstWaiting();
    expect(await terminal.printed()).toBe('serving\n');
    expect(terminal.screen).toBe('');
    expect((await waiting()).map((question) => question.id)).toEqual([id]);
    process.kill(-others.pid, 'SIGTERM');
    await others.finished;
  });

  it('two commands in the foreground ask one after the other, and each key is for what is shown', async () => {
    await using terminal = await inShell(
      '"$@" run -c \'print("le" + "ft")\' >&2 | "$@" run -c \'print("rig" + "ht")\'',
    );
    await eventually('both are asked', async () => (await waiting()).length === 2);
    await terminal.shows('s left)? ');
    const isLeftFirst = terminal.screen.includes('"le" + "ft"');
    expect(terminal.screen.split('Glovebox asks')).toHaveLength(2);
    terminal.type('n\r');
    await terminal.shows('s left)? ', 2);
    expect(terminal.screen.split('Glovebox asks')).toHaveLength(3);
    terminal.type('y\r');
    const printed = await terminal.printed();
    expect(printed.match(/^(left|right)$/gm)).toEqual([isLeftFirst ? 'right' : 'left']);
  });

  it('a program prints nothing to the screen while somebody else asks there', async () => {
    const open = { ...GATED, SANDBOX_GATE: 'trusted' };
    const program = 'import time; time.sleep(3); print("spo" + "of", flush=True)';
    await using terminal = await onTerminal(
      [
        'bash',
        '-c',
        `"$@" run -c '${program}' >/dev/tty & SANDBOX_GATE=strict "$@" run -c 'print(1)'; wait`,
        'bash',
        process.execPath,
        MAIN,
      ],
      open,
    );
    await terminal.shows('s left)? ');
    // By then it has been printed, unless it is held back.
    await new Promise((resolve) => setTimeout(resolve, 5000));
    expect(terminal.screen).not.toContain('spoof');
    terminal.type('n\r');
    await terminal.shows('spoof');
    expect(terminal.screen.indexOf('Denied.')).toBeLessThan(terminal.screen.indexOf('spoof'));
  });

  it('a question waits until it is said whether a project file is trusted', async () => {
    glovebox.file('glovebox.yaml', 'security:\n  sandbox:\n    timeout_sec: 600\n');
    await using terminal = await inShell(
      '"$@" config trust >&2 | (until [ -e go ]; do sleep 0.05; done; "$@" run -c "print(1)")',
    );
    await terminal.shows('anything else leaves it as it is: ');
    glovebox.file('go', '');
    await firstWaiting();
    expect(terminal.screen).not.toContain('may this be done');
    terminal.type('\r');
    await terminal.shows('s left)? ');
    terminal.type('y\r');
    expect((await terminal.printed()).split('\n')).toEqual(
      expect.arrayContaining([expect.stringMatching(/^Not trusted: /), '1']),
    );
  });

  it('nor is the making of another sandbox asked where one is made', async () => {
    const one = await start(['sandbox', 'create', '--id', 'one'], GATED);
    const first = await firstWaiting();
    await using terminal = await atTerminal(['sandbox', 'create', '--id', 'two'], GATED);
    await terminal.shows('s left)? ');
    terminal.type('n\r');
    await terminal.printed();
    expect(terminal.screen.split('Glovebox asks').length).toBe(2);
    expect((await waiting()).map(({ id }) => id)).toEqual([first]);
    await using elsewhere = await atTerminal(['approvals', 'answer', first]);
    await elsewhere.shows('s left)? ');
    elsewhere.type('n\r');
    expect(await one.finished).toMatchObject({ status: 125 });
  });
});

it('asks nobody unless somebody configures a gate', async () => {
  const { SANDBOX_GATE: _gate, ...env } = GATED;
  expect(await (await start(['run', '-c', 'print(1)'], env)).finished).toMatchObject({
    status: 0,
    stdout: '1\n',
  });
  expect((await run('approvals')).stdout).toBe('Nothing waits for an answer.\n');
});

it('refuses what is no question, no grant and no rule', async () => {
  for (const args of [
    ['show', 'x'],
    ['answer', '0123456789abcdef'],
    ['revoke'],
    ['revoke', '0123456789abcdef'],
  ]) {
    expect(await run('approvals', ...args)).toMatchObject({ status: 125, stdout: '' });
  }
  glovebox.file(
    join(glovebox.home, 'config/glovebox/config.yaml'),
    'security:\n  sandbox:\n    hitl:\n      enabled: true\n      rules:\n        - id: wrong\n          level: GRAVE\n',
  );
  const { SANDBOX_GATE: _gate, ...env } = GATED;
  const { status, stderr } = await (await start(['run', '-c', '1'], env)).finished;
  expect({ status, stderr }).toMatchObject({
    status: 125,
    stderr: expect.stringMatching(/hitl\.rules\.0\./),
  });
});

it('follows rules of the operator’s own beside the others', async () => {
  glovebox.file(
    join(glovebox.home, 'config/glovebox/config.yaml'),
    [
      'security:',
      '  sandbox:',
      '    gate: trusted',
      '    hitl:',
      '      rules:',
      '        - id: no-shell',
      '          description: A shell script is run.',
      '          tools: [code_execute]',
      '          when: [{ equals: { language: shell } }]',
      '          level: CRITICAL',
      '          ask: true',
      '          timeout_sec: 1',
      '          examples:',
      '            matching: [{ parameters: { language: shell } }]',
      '            missing: [{ parameters: { language: python } }]',
      '',
    ].join('\n'),
  );
  const { SANDBOX_GATE: _gate, ...env } = GATED;
  const python = await (await start(['run', '-c', 'print(1)'], env)).finished;
  expect(python).toMatchObject({ status: 0, stdout: '1\n' });
  const shell = await (await start(['run', '-l', 'shell', '-c', 'echo 1'], env)).finished;
  expect(shell).toMatchObject({ status: 126, stdout: '' });
  expect(shell.stderr).toMatch(/A shell script is run\..*nobody answered within 1 seconds/);
});
