/** The life of a sandbox as an agent leads it, step by step, by the library, on every runtime. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SandboxManager } from '../../src/index.ts';
import { EACH_KIND } from '../live/support.ts';
import { pythonIndex, serve, wheel } from '../support/packageIndexes.ts';
import { describeMissing } from '../support/targets.ts';

const TOTALS = wheel('totals', '1.0.0', {
  'totals.py': 'def total(rows): return sum(int(row["amount"]) for row in rows)',
});

const SUM_UP = `
import csv, json, subprocess, totals
rows = list(csv.DictReader(open('sales.csv')))
check = "const isNumber = require('is-number'); console.log(process.argv.slice(1).every((text) => isNumber(text)))"
numbers = subprocess.run(['node', '-e', check, *[row['amount'] for row in rows]], capture_output=True, text=True)
json.dump({'total': totals.total(rows), 'numbers': numbers.stdout.strip()}, open('result.json', 'w'))`;

const FILL = `
import errno, os
written = 0
try:
    with open('big', 'wb') as file:
        for _ in range(1300): written += file.write(bytes(1024 * 1024))
except OSError as problem: print(errno.errorcode[problem.errno], written // (1024 * 1024))
os.remove('big')`;

const folder = mkdtempSync(join(tmpdir(), 'living-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The operator's settings: where packages come from. The npm registry is the one that npm of this machine uses. */
function settings(index: string): string {
  const registry = execFileSync('npm', ['config', 'get', 'registry'], {
    cwd: tmpdir(),
    encoding: 'utf8',
  }).trim();
  const network = {
    host_map: { 'index.test': index },
    allowed_registries: { pypi: 'http://index.test/simple', npm: registry },
  };
  const file = join(folder, 'config.yaml');
  writeFileSync(file, JSON.stringify({ security: { sandbox: { network, store_code: 'never' } } }));
  return file;
}

describeMissing('the life of a sandbox');

describe.each(EACH_KIND.filter(({ capabilities }) => capabilities.network.includes('allowlist')))(
  'the life of a sandbox: $name',
  ({ runtime }) => {
    it('goes from a file over packages and code to a result, and ends', async () => {
      const index = await serve(pythonIndex(TOTALS));
      await using manager = new SandboxManager({
        runtime,
        configFile: settings(index.endpoint),
        cwd: folder,
      });
      const id = await manager.createSandbox({ language: 'python', limits: { cpu: 2 } });
      await manager.writeFile(id, 'sales.csv', 'month,amount\njan,40\nfeb,2\n');
      expect(await manager.installPackage(id, 'totals', 'pypi')).toMatchObject({
        ok: true,
        version: '1.0.0',
      });
      expect(await manager.installPackage(id, 'is-number', 'npm')).toMatchObject({ ok: true });
      const ran = await manager.executeCode(id, SUM_UP, { timeout: 60 });
      expect(ran).toMatchObject({ stderr: '', ok: true });
      expect(JSON.parse((await manager.readFile(id, '/workspace/result.json')).content)).toEqual({
        total: 42,
        numbers: 'true',
      });
      const { files } = await manager.listFiles(id, '/workspace');
      expect(files.map(({ name }) => name)).toEqual(expect.arrayContaining(['result.json', 'sales.csv']));
      await manager.destroySandbox(id);
      await expect(manager.readFile(id, 'result.json')).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
    }, 300_000);

    it('has room for a gigabyte on its disk, and says when that is used up', async () => {
      await using manager = new SandboxManager({ runtime, cwd: folder });
      const id = await manager.createSandbox({ limits: { cpu: 2 } });
      const ran = await manager.executeCode(id, FILL, { timeout: 120 });
      const [, code, megabytes] = /^(\w+) (\d+)\n$/.exec(ran.stdout) ?? [];
      expect({ code, outcome: ran.outcome }).toEqual({ code: 'ENOSPC', outcome: 'exited' });
      // An engine divides the disk between the places that can be written to.
      expect(Number(megabytes)).toBeGreaterThan(700);
      expect(Number(megabytes)).toBeLessThanOrEqual(1024);
      expect((await manager.executeCode(id, 'print(6 * 7)')).stdout).toBe('42\n');
    }, 300_000);
  },
);
