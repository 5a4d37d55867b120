import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useCommand } from './support/command.ts';
import { describeWith } from './support/needs.ts';

const glovebox = useCommand();
const PYTHON = '/usr/bin/python3';

/** A home as people have it: closed to others, with a secret beside what they installed. */
function privateHome(): string {
  chmodSync(glovebox.home, 0o700);
  writeFileSync(join(glovebox.home, 'secret.txt'), 'do not show');
  return glovebox.home;
}

function makeVenv(folder: string): string {
  execFileSync(PYTHON, ['-m', 'venv', '--without-pip', folder], { stdio: 'pipe' });
  const [library = ''] = execFileSync(
    join(folder, 'bin/python'),
    ['-c', 'import site; print(site.getsitepackages()[0])'],
    {
      encoding: 'utf8',
    },
  ).split('\n');
  writeFileSync(join(library, 'installed_here.py'), 'ANSWER = 42\n');
  return folder;
}

const LOOK_AROUND = `
import os, sys
home = sys.argv[1]
print(os.path.exists(home + '/secret.txt'), os.listdir(home) if os.path.isdir(home) else 'no home')
`;

describeWith(['bubblewrap'], 'interpreters as people install them', () => {
  it('an active virtual environment in the home is used, and nothing else of the home is shown', async () => {
    const home = privateHome();
    const venv = makeVenv(join(home, 'project', '.venv'));
    const code = `import installed_here, sys\nprint(installed_here.ANSWER, sys.prefix)\n${LOOK_AROUND}`;
    const { status, stdout, stderr } = await glovebox.run(['run', '-c', code, '--', home], {
      env: { VIRTUAL_ENV: venv },
    });
    expect(stderr).toBe('');
    expect(stdout).toBe(`42 ${venv}\nFalse ['project']\n`);
    expect(status).toBe(0);
  });

  it('a virtual environment is named by SANDBOX_PYTHON as well, and cannot be changed from inside', async () => {
    const venv = makeVenv(join(privateHome(), 'venv'));
    const code = `import sys\ntry:\n    open(sys.prefix + '/pyvenv.cfg', 'a')\nexcept OSError as error:\n    print(error.strerror)`;
    const { stdout } = await glovebox.run(['run', '-c', code], {
      env: { SANDBOX_PYTHON: join(venv, 'bin/python') },
    });
    expect(stdout).toMatch(/^(Read-only file system|Permission denied)\n$/);
  });

  it("a version manager's shim is asked once for the real interpreter", async () => {
    const home = privateHome();
    const real = join(home, 'versions/20.0.0/bin/node');
    mkdirSync(join(home, 'versions/20.0.0/bin'), { recursive: true });
    copyFileSync(process.execPath, real);
    chmodSync(real, 0o755);
    const shim = glovebox.file(
      join(home, 'shims/node'),
      `#!/bin/sh\necho asked >> "${home}/log"\nexec "${real}" "$@"\n`,
    );
    chmodSync(shim, 0o755);
    const run = () =>
      glovebox.run(['run', '-l', 'javascript', '-c', 'console.log(process.execPath)'], {
        env: { SANDBOX_NODE: shim },
      });
    expect(await run()).toMatchObject({ stdout: `${real}\n`, stderr: '', status: 0 });
    expect(await run()).toMatchObject({ stdout: `${real}\n`, status: 0 });
    expect(execFileSync('cat', [join(home, 'log')], { encoding: 'utf8' })).toBe('asked\n');
  });

  it('a link in the home to an interpreter of the system shows nothing of the home', async () => {
    const home = privateHome();
    mkdirSync(join(home, 'bin'));
    symlinkSync(PYTHON, join(home, 'bin/python3'));
    const { stdout } = await glovebox.run(['run', '-c', LOOK_AROUND, '--', home], {
      env: { SANDBOX_PYTHON: join(home, 'bin/python3') },
    });
    expect(stdout).toBe('False no home\n');
  });

  it('links on the way to the real interpreter are followed inside as well', async () => {
    const home = privateHome();
    mkdirSync(join(home, 'store/cpython-3.x.1/bin'), { recursive: true });
    copyFileSync(process.execPath, join(home, 'store/cpython-3.x.1/bin/node'));
    chmodSync(join(home, 'store/cpython-3.x.1/bin/node'), 0o755);
    symlinkSync(join(home, 'store/cpython-3.x.1'), join(home, 'store/current'));
    const named = join(home, 'store/current/bin/node');
    const { stdout, status } = await glovebox.run(['run', '-l', 'javascript', '-c', 'console.log(1)'], {
      env: { SANDBOX_NODE: named },
    });
    expect({ stdout, status }).toEqual({ stdout: '1\n', status: 0 });
  });

  it('one that cannot be shown without showing the home is refused, and named', async () => {
    const home = privateHome();
    mkdirSync(join(home, 'bin'));
    copyFileSync(process.execPath, join(home, 'bin/node'));
    chmodSync(join(home, 'bin/node'), 0o755);
    const { status, stdout, stderr } = await glovebox.run(
      ['run', '-l', 'javascript', '-c', 'console.log(1)'],
      {
        env: { SANDBOX_NODE: join(home, 'bin/node') },
      },
    );
    expect(stdout).toBe('');
    expect(stderr).toContain(home);
    expect(stderr.trim().split('\n')).toHaveLength(2);
    expect(status).toBe(125);
  });

  it('a missing one names what to install', async () => {
    const { status, stderr } = await glovebox.run(['run', '-c', '1'], {
      env: { SANDBOX_PYTHON: '/nonexistent/python' },
    });
    expect(status).toBe(125);
    expect(stderr).toContain('/nonexistent/python');
    expect(stderr).toContain('apt-get install python3');
    expect(existsSync('/nonexistent')).toBe(false);
  });
});
