import { expect, it } from 'vitest';
import { type Finished, useCommand } from './support/command.ts';
import { describeWith } from './support/needs.ts';

const glovebox = useCommand();

/** The folders of the system are looked at whatever PATH says, so the file itself has to go: for this process only. */
const WITHOUT_BUBBLEWRAP = [
  ...['unshare', '--mount', 'sh', '-c'],
  'for path in /usr/bin/bwrap /usr/local/bin/bwrap; do ' +
    '[ ! -e "$path" ] || { : > "$TMPDIR/no-bwrap" && mount --bind "$TMPDIR/no-bwrap" "$path"; } || exit 99; ' +
    'done; exec "$@"',
  'without-bubblewrap',
];

const WARNING = /^glovebox: warning: (.+)\n$/;

describeWith(['bubblewrap'], 'run with bubblewrap', () => {
  it('holds the program in namespaces and warns of nothing', async () => {
    const { status, stdout, stderr } = await glovebox.run(['run', '--json', '-c', "print('hi')"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const { meta, ...result } = JSON.parse(stdout);
    expect(result.stdout).toBe('hi\n');
    expect(meta.enforced).toMatchObject({
      isolation: 'namespace',
      network: 'none',
      filesystem: 'private',
      processes: 'contained',
      seccomp: true,
    });
    expect(meta).not.toHaveProperty('warnings');
  });

  it('is what --runtime bubblewrap asks for by name', async () => {
    const { stdout, stderr } = await glovebox.run(['run', '--json', '--runtime', 'bubblewrap', '-c', 'pass']);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout).meta).toMatchObject({
      runtime: 'bubblewrap',
      enforced: { isolation: 'namespace' },
    });
  });

  it('shows the program its own workspace, and that its file is there', async () => {
    const { stdout } = await glovebox.run(['run', '-c', 'import os; print(os.getcwd(), __file__)']);
    expect(stdout).toBe('/workspace /workspace/main.py\n');
  });

  it("does not show the caller's files or processes", async () => {
    const mine = glovebox.file('mine.txt', 'host');
    const code = 'import os, sys; print(os.path.exists(sys.argv[1]), os.path.exists(f"/proc/{sys.argv[2]}"))';
    const held = await glovebox.run(['run', '-c', code, '--', mine, String(process.pid)]);
    const plain = await glovebox.run(['run', '-c', code, '--', mine, String(process.pid)], {
      env: { SANDBOX_LOCAL_ISOLATION: 'none' },
    });
    expect([held.stdout, plain.stdout]).toEqual(['False False\n', 'True True\n']);
  });
});

describeWith(['linux'], 'run as a plain process, because SANDBOX_LOCAL_ISOLATION=none asks for it', () => {
  it('warns in one line of what is not held and of how to get it', async () => {
    const finished = await glovebox.run(['run', '--json', '-c', "print('hi')"], {
      env: { SANDBOX_LOCAL_ISOLATION: 'none' },
    });
    expectPlainWithWarning(finished);
    expect(finished.stderr).toContain('SANDBOX_LOCAL_ISOLATION');
  });

  it('warns before the program prints, and leaves its output alone', async () => {
    const { stdout, stderr } = await glovebox.run(
      ['run', '-c', 'import sys; print("out"); print("err", file=sys.stderr)'],
      { env: { SANDBOX_LOCAL_ISOLATION: 'none' } },
    );
    expect(stdout).toBe('out\n');
    expect(stderr).toMatch(/^glovebox: warning: .+\nerr\n$/);
  });
});

describeWith(['bubblewrap', 'root'], 'run on a machine without bubblewrap', () => {
  const wrapper = WITHOUT_BUBBLEWRAP;

  it('runs as a plain process, with one line that says what is not held and how to get it', async () => {
    const finished = await glovebox.run(['run', '--json', '-c', "print('hi')"], { wrapper });
    expectPlainWithWarning(finished);
    expect(finished.stderr).toMatch(/bubblewrap.*(install|apt-get)/i);
  });

  it('refuses with SANDBOX_LOCAL_ISOLATION=namespace, and runs nothing', async () => {
    const { status, stdout, stderr } = await glovebox.run(['run', '-c', 'print("ran")'], {
      wrapper,
      env: { SANDBOX_LOCAL_ISOLATION: 'namespace' },
    });
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toMatch(/^glovebox: .*bubblewrap.*\n {2}.*install.*\n$/i);
  });

  it.each([
    ['--runtime bubblewrap', ['--runtime', 'bubblewrap'], {}],
    ['SANDBOX_TYPE=bubblewrap', [], { SANDBOX_TYPE: 'bubblewrap' }],
    ['a minimum isolation of namespace', ['--min-isolation', 'namespace'], {}],
  ])('refuses for %s, and does not fall back', async (_, args, env) => {
    const { status, stdout, stderr } = await glovebox.run(['run', ...args, '-c', 'print("ran")'], {
      wrapper,
      env,
    });
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toMatch(/^glovebox: .+\n {2}.+\n$/);
  });

  it('falls back where the operator configured it, and the result says so', async () => {
    const { status, stdout } = await glovebox.run(['run', '--json', '-c', 'pass'], {
      wrapper,
      env: { SANDBOX_TYPE: 'bubblewrap', SANDBOX_FALLBACK: 'local' },
    });
    const { meta } = JSON.parse(stdout);
    expect({ status, runtime: meta.runtime, isolation: meta.enforced.isolation }).toEqual({
      status: 0,
      runtime: 'local',
      isolation: 'process',
    });
    expect(meta.fallback_from).toBe('bubblewrap');
    expect(meta.warnings.join('\n')).toMatch(/fallback "local"/);
  });

  it('has a doctor who names the reason and the command', async () => {
    const { status, stdout } = await glovebox.run(['doctor'], { wrapper });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^bubblewrap: not available\. [\s\S]*?\n {2}[^\n]*apt-get install bubblewrap/m);
    expect(stdout).toMatch(/^local: available \(plain process\)\n {2}isolation process/);
  });
});

function expectPlainWithWarning({ status, stdout, stderr }: Finished): void {
  expect(status).toBe(0);
  expect(stderr).toMatch(WARNING);
  expect(stderr).toContain('can read and change your files and use the network');
  const { meta, ...result } = JSON.parse(stdout);
  expect(result.stdout).toBe('hi\n');
  expect(meta.enforced).toMatchObject({ isolation: 'process', network: 'open', filesystem: 'host' });
  expect(meta.warnings).toHaveLength(1);
}
