import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fileName } from '../../audit/log/files.ts';
import { GENESIS, type Place, sealLine } from '../../audit/log/line.ts';
import { list, show } from './list.ts';

let folder: string;
let config: string;
let printed: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-list-test-'));
  config = join(folder, 'glovebox.yaml');
  writeFileSync(config, `security:\n  sandbox:\n    audit_dir: ${folder}\n`);
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += text;
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

/** A log whose records somebody has made up. */
function craft(...records: readonly { readonly at?: string; readonly fields: string }[]): void {
  let place: Place = { seq: 0, hash: GENESIS };
  const lines = records.map(({ at = '2026-11-20T12:00:00.000Z', fields }) => {
    const sealed = sealLine(place, at, fields);
    place = sealed.place;
    return `${sealed.line}\n`;
  });
  writeFileSync(join(folder, fileName(1)), lines.join(''));
}

describe('a crafted record', () => {
  const moves = '\\u001b[2A\\u001b[2K';
  const shown = '\\x1b[2A\\x1b[2K';

  it('cannot move the cursor of whoever looks at it', async () => {
    craft(
      { at: '\u001b[2A\u001b[2K', fields: `"type":"a${moves}","id":"b${moves}"` },
      { fields: `"type":"${moves}","c":"d"` },
    );
    expect(await list({ config })).toBe(0);
    expect(await show('1', { config })).toBe(0);
    const control = [...printed].filter((character) => character < ' ' && character !== '\n');
    expect(control).toEqual([]);
    expect(printed).toContain(`  ${shown}  a${shown}`);
  });

  it.each([
    '"type":"constructor"',
    '"type":"__proto__"',
    '"type":"toString"',
    '"type":"ended","ok":false,"error":null',
    '"type":"ended","ok":false,"error":"text"',
    '"type":"ended","outcome":{"toString":null},"operation":{"toString":1}',
    '"type":"request","code":"text","parameters":null,"surface":{"toString":null}',
    '"type":"request","code":{"sha256":{"toString":null}},"parameters":1',
    '"type":"network","host":{"toString":null},"port":[]',
    '"type":"decision","id":{"toString":null}',
    '"type":"other","sandbox_id":{"toString":null}',
  ])('is shown all the same, whatever its shape: %s', async (fields) => {
    craft({ fields });
    expect(await list({ config })).toBe(0);
    expect(await list({ config, operation: ['execute'] })).toBe(0);
    expect(await show('1', { config })).toBe(0);
    expect(printed).toContain(JSON.parse(`{${fields}}`).type);
  });
});

it('says of a record what there is to say', async () => {
  craft(
    {
      fields: '"type":"ended","operation":"execute","ok":true,"outcome":"exited","exit_code":0,"duration":1',
    },
    { fields: '"type":"ended","operation":"execute","ok":false,"error":{"code":"FILE_NOT_FOUND"}' },
    { fields: '"type":"network","allowed":true,"host":"a.test","port":443' },
    { fields: '"type":"network_closed","host":"a.test","port":443,"bytes_up":1,"bytes_down":2' },
  );
  await list({ config });
  expect(printed.split('\n').map((line) => line.slice(61))).toEqual([
    'execute ok exited with 0 after 1.000 s',
    'execute failed FILE_NOT_FOUND',
    'allowed a.test:443',
    'a.test:443 (1 bytes up, 2 down)',
    '',
  ]);
});
