import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt } from './support/build.ts';
import { useCommand } from './support/command.ts';

const glovebox = useCommand();

beforeAll(() => ensureBuilt());

const spread = { n: 3, p50: expect.any(Number), p95: expect.any(Number), min: expect.any(Number) };

describe('glovebox bench', () => {
  it('measures a row beside its baseline, and leaves only the files that it was asked for', async () => {
    const { status, stdout, stderr } = await glovebox.run(
      [
        ...['bench', '--quick', '--only', 'local.python.cold', '--pairs', '3', '--json'],
        ...['--output', 'bench.json', '--svg', 'bench.svg'],
      ],
      { deadlineMs: 60_000 },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const report = JSON.parse(stdout);
    expect(report).toEqual({
      measured_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      pairs: 3,
      machine: {
        system: expect.stringContaining(process.platform),
        processor: expect.any(String),
        cores: expect.any(Number),
        memory_mb: expect.any(Number),
        node: process.version,
        python: expect.stringMatching(/^3\.\d+\.\d+/),
        glovebox: expect.stringMatching(/^\d+\.\d+\.\d+/),
      },
      rows: [
        {
          name: 'local.python.cold',
          what: expect.stringMatching(/\.$/),
          unit: 'ms',
          status: 'measured',
          ...spread,
          ratio: report.rows[0].p50 / report.rows[0].baseline.p50,
          baseline: { ...spread, what: 'bare python3 -c' },
          warm: null,
          also: {},
          goal: {
            ...{ of: 'ratio', better: 'lower', must: 1.3, aim: 1 },
            ...{ meets_must: expect.any(Boolean), meets_aim: expect.any(Boolean) },
          },
        },
      ],
    });
    expect(readFileSync(join(glovebox.folder, 'bench.json'), 'utf8')).toBe(stdout);
    expect(readFileSync(join(glovebox.folder, 'bench.svg'), 'utf8')).toContain('local.python.cold');
    expect(readdirSync(glovebox.folder).sort()).toEqual(['bench.json', 'bench.svg']);
    expect(readdirSync(glovebox.temporary)).toEqual([]);
  });

  it('tells why a row is skipped, and does not fail for it', async () => {
    const { status, stdout } = await glovebox.run(['bench', '--only', 'docker.python.cold'], {
      env: { DOCKER_HOST: 'unix:///nowhere/docker.sock' },
    });
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringMatching(/docker\.python\.cold\s+│ skipped[\s\S]*docker is not available\./),
    });
  });

  it('refuses a row that is not there, before anything is measured', async () => {
    const { status, stderr } = await glovebox.run(['bench', '--only', 'local.pyth']);
    expect({ status, stderr }).toEqual({
      status: 125,
      stderr: expect.stringMatching(/There is no row called "local\.pyth"\.\n {2}.*local\.python\.cold/),
    });
  });
});
