import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { childrenOf } from './namespaceInit.ts';

describe.skipIf(process.platform !== 'linux')('the children of a process', () => {
  it('are found whichever of its threads started them', async () => {
    const program = `import subprocess, sys, threading
first = subprocess.Popen(['sleep', '60'])
def start(): children.append(subprocess.Popen(['sleep', '60']))
children = []
thread = threading.Thread(target=lambda: (start(), print(first.pid, children[0].pid, flush=True), sys.stdin.read()))
thread.start()
thread.join()
for child in [first, *children]: child.kill()`;
    const parent = spawn('python3', ['-c', program], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [printed] = await once(createInterface(parent.stdout), 'line');
    const found = childrenOf(parent.pid ?? 0).map(({ pid }) => pid);
    parent.stdin.end();
    await once(parent, 'exit');
    expect(found.sort()).toEqual(String(printed).trim().split(' ').map(Number).sort());
  });
});
