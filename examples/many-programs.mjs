// What an evaluator does: runs hostile programs, held in namespaces at least, and gets an ordinary result for each.
import { executeMany } from 'glovebox';

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

// They may as well come one by one from a file or a model: no more are held than run at a time.
function* hostile() {
  for (const [id, code] of Object.entries(programs)) {
    yield { id, code, timeout: 2, memoryMb: 128, diskMb: 64, minIsolation: 'namespace' };
  }
}

await executeMany(hostile(), {
  concurrency: 2,
  onResult({ id, result, error }) {
    if (error !== undefined) throw error;
    const { outcome, exitCode, truncated, meta } = result;
    const output = `${meta.stdoutBytes} bytes${truncated ? ', cut' : ''}`;
    console.log(
      `${id}: ${outcome} (exit code ${exitCode}), ${output}, ${meta.enforced?.isolation ?? 'not run'}`,
    );
  },
});
