import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once as event } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from './support.ts';

describe('what the parent of the toolkit left open', () => {
  const source = new URL('../../src/', import.meta.url).pathname;

  async function inherit(withTerminal: boolean): Promise<Record<string, { fds: string[]; tty: string }>> {
    const script = join(scratch, `inherit-${randomUUID()}.mts`);
    const output = `${script}.json`;
    writeFileSync(
      script,
      `import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { bubblewrap } from '${source}runtimes/bubblewrap/index.ts';
import { local } from '${source}runtimes/local/index.ts';
import { getSandbox } from '${source}operations/getSandbox.ts';
const code = \`import json, os
fds = sorted(fd for fd in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + fd))
try: os.open('/dev/tty', os.O_RDWR); tty = 'ok'
except OSError as error: tty = str(error.errno)
print(json.dumps({'fds': fds, 'tty': tty, 'input': os.read(0, 10).decode()}))\`;
const said = {};
for (const runtime of [bubblewrap(), local({ isolation: 'namespace' }), local({ isolation: 'none' }), local({ isolation: 'none', cgroups: null })]) {
  const probe = await runtime.probe();
  if (!probe.available) continue;
  const result = await getSandbox({ runtime, cwd: '${scratch}' }).execute(code, { language: 'python' });
  said[runtime.name + ' ' + probe.version] = JSON.parse(result.stdout || JSON.stringify(result.stderr));
}
said.control = JSON.parse(spawnSync('python3', ['-c', code], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout);
writeFileSync('${output}', JSON.stringify(said));
`,
    );
    const node = [process.execPath, '--import', 'tsx', script];
    const quoted = node.map((part) => `'${part}'`).join(' ');
    const start = `exec 17</ 200</etc 999</tmp; exec ${quoted}`;
    const command = withTerminal
      ? [
          'python3',
          '-c',
          'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))',
          'bash',
          '-c',
          start,
        ]
      : ['bash', '-c', start];
    const child = spawn(command[0] ?? '', command.slice(1), {
      stdio: ['pipe', 'ignore', 'inherit'],
      cwd: join(source, '..'),
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), 50_000);
    child.stdin.write('typed by the operator\n');
    const [code] = (await event(child, 'close')) as [number | null];
    clearTimeout(timer);
    expect(code).toBe(0);
    return JSON.parse(readFileSync(output, 'utf8')) as Record<string, { fds: string[]; tty: string }>;
  }

  it('9. no descriptor above 2 reaches the program', async () => {
    const { control, ...said } = await inherit(false);
    for (const [name, { fds }] of Object.entries(said)) expect([name, fds]).toEqual([name, ['0', '1', '2']]);
    // Control: an ordinary child of the same process has at least one of them.
    expect(control?.fds.filter((fd) => ['17', '200', '999'].includes(fd))).not.toEqual([]);
  });

  it('10. no terminal of the operator, and nothing that was typed there', async () => {
    const { control, ...said } = await inherit(true);
    for (const [name, facts] of Object.entries(said)) {
      expect([name, facts]).toEqual([
        name,
        { fds: ['0', '1', '2'], tty: expect.not.stringMatching('ok'), input: '' },
      ]);
    }
    expect(control?.tty).toBe('ok');
  });
});
