// What an evaluator does: runs hostile programs, held in namespaces at least, and gets an ordinary result for each.
import { getSandbox } from 'glovebox';

const programs = {
  'a good one': "print('42')",
  'a crash': "raise ValueError('x')",
  'a hang': 'while True: pass',
  'a flood': "while True: print('x' * 1000)",
  'a fork bomb': 'import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass',
  'a memory hog': "hoard = b'x' * 2**32",
  'a suicide': 'import os; os.kill(os.getpid(), 9)',
  'an orphan':
    "import subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True); print('left a child')",
};

const sandbox = getSandbox();
for (const [name, code] of Object.entries(programs)) {
  const { outcome, exitCode, truncated, meta } = await sandbox.execute(code, {
    timeout: 2,
    memoryMb: 128,
    diskMb: 64,
    minIsolation: 'namespace',
  });
  const output = `${meta.stdoutBytes} bytes${truncated ? ', cut' : ''}`;
  console.log(
    `${name}: ${outcome} (exit code ${exitCode}), ${output}, ${meta.enforced?.isolation ?? 'not run'}`,
  );
}
