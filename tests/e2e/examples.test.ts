import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, REPOSITORY } from './support/build.ts';
import { useCommand } from './support/command.ts';
import { describeWith } from './support/needs.ts';

const glovebox = useCommand();
const example = (name: string): string => join(REPOSITORY, 'examples', name);

beforeAll(() => ensureBuilt());

/** As its reader would: `node examples/…`, which finds the built package by its name. */
async function run(name: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [example(name)], {
    cwd: glovebox.folder,
    timeout: 50_000,
  });
  return stdout;
}

describe('the examples', () => {
  it('hello.py greets', async () => {
    const { status, stdout } = await glovebox.run(['run', example('hello.py')]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Hello from Python 3\.\d+\.\d+ inside a Glovebox!\n$/);
  });

  it('csv-to-chart.py draws a bar for each row of sales.csv, by the command in its first lines', async () => {
    const command = /^glovebox (run .+)$/m.exec(readFileSync(example('csv-to-chart.py'), 'utf8'))?.[1] ?? '';
    const args = command.split(' ').map((arg) => arg.replace(/^examples\//, `${REPOSITORY}/examples/`));
    const { status, stdout } = await glovebox.run(args);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'Drew 4 bars; the largest is 240.\n' });
    const svg = readFileSync(join(glovebox.folder, 'chart.svg'), 'utf8');
    expect(svg.match(/<rect .*?width="(\d+)"/g)).toHaveLength(4);
    expect(svg).toContain('width="400" height="24"');
  });

  it('agent-tool.mjs answers with what was printed, and with the error of what failed', async () => {
    const [first, ...rest] = (await run('agent-tool.mjs')).split('\n');
    expect(first).toBe('5050');
    expect(rest.join('\n')).toMatch(
      /^Error \(exit_code=1\): Traceback[\s\S]*NameError: name 'undefined_name' is not defined\n$/,
    );
  });

  it('live-sandbox.mjs keeps files from one execution to the next', async () => {
    expect(await run('live-sandbox.mjs')).toBe(
      'sorted: 1 2 3\nsum: 1+2+3\nfiles: main.py, main.sh, numbers.txt, sorted.txt\n',
    );
  });
});

describe('the example approval-webhook.mjs', () => {
  it('runs what the webhook approves, and nothing else', async () => {
    expect(await run('approval-webhook.mjs')).toBe("print(6 * 7): exited, 42\nopen('a.txt', 'w'): denied\n");
  });
});

describeWith(['matplotlib'], 'the example data-analysis.mjs', () => {
  it('keeps variables between its steps, and brings a chart back', async () => {
    expect(await run('data-analysis.mjs')).toBe("columns: ['month', 'sales']\ntotal: 630\nchart.png: PNG\n");
    expect(readFileSync(join(glovebox.folder, 'chart.png')).subarray(1, 4).toString()).toBe('PNG');
  });
});

describeWith(['bubblewrap'], 'the example many-programs.mjs', () => {
  it('gets an ordinary result for each hostile program', async () => {
    const lines = (await run('many-programs.mjs')).trimEnd().split('\n');
    const outcomes = Object.fromEntries(
      lines.map((line) => [line.split(':')[0], /: (\w+) \(exit code (-?\d+)\)/.exec(line)?.slice(1)]),
    );
    expect(outcomes).toEqual({
      'a good one': ['exited', '0'],
      'a crash': ['exited', '1'],
      'a hang': ['timed_out', '-1'],
      'a flood': ['timed_out', '-1'],
      'a fork bomb': ['timed_out', '-1'],
      'a memory hog': [expect.stringMatching(/^(out_of_memory|exited)$/), expect.stringMatching(/^(137|1)$/)],
      'a suicide': ['killed', '137'],
      'an orphan': ['exited', '0'],
    });
    expect(lines.every((line) => line.endsWith('namespace'))).toBe(true);
  });
});
