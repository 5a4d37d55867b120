import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createSandbox, getSandbox } from '../../src/index.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { useSurroundings } from './support/surroundings.ts';

const surroundings = useSurroundings();

for (const isolation of ['none', 'namespace'] as const) {
  describeWith(
    isolation === 'none' ? [] : ['bubblewrap'],
    `Given a folder of the caller's and SANDBOX_LOCAL_ISOLATION=${isolation}`,
    () => {
      function given(): void {
        surroundings.set('SANDBOX_LOCAL_ISOLATION', isolation);
        surroundings.set('SANDBOX_STORE_CODE', 'never');
        writeFileSync(join(surroundings.folder, 'mine.txt'), 'mine');
      }

      it("when a program writes test.txt, then the caller's folder is as it was and nothing temporary is left", async () => {
        given();
        const { ok, stdout } = await getSandbox().execute(
          "import os\nopen('test.txt', 'w').write('x')\nprint(os.path.getsize('test.txt'), os.getcwd())",
        );
        const [size, workspace = ''] = stdout.trim().split(' ');
        expect({ ok, size }).toEqual({ ok: true, size: '1' });
        expect(readdirSync(surroundings.folder)).toEqual(['mine.txt']);
        expect(readFileSync(join(surroundings.folder, 'mine.txt'), 'utf8')).toBe('mine');
        expect([existsSync(workspace), existsSync(dirname(workspace))]).toEqual([
          false,
          isolation === 'namespace',
        ]);
        expect(readdirSync(surroundings.temporary)).toEqual([]);
      });

      it('when a program makes a folder that nobody may enter, then that is gone too', async () => {
        given();
        const { ok } = await getSandbox().execute(
          "import os\nos.makedirs('a/b'); open('a/b/c', 'w').close(); os.chmod('a/b', 0); os.chmod('a', 0)",
        );
        expect(ok).toBe(true);
        expect(readdirSync(surroundings.temporary)).toEqual([]);
      });

      it('when a sandbox lives on, then its files last until it is closed', async () => {
        given();
        const sandbox = await createSandbox();
        try {
          await sandbox.execute("open('kept.txt', 'w').write('kept')");
          expect((await sandbox.readFile('kept.txt')).content).toBe('kept');
        } finally {
          await sandbox.close();
        }
        await expect(sandbox.readFile('kept.txt')).rejects.toMatchObject({ code: 'SANDBOX_CLOSED' });
        expect(readdirSync(surroundings.temporary)).toEqual([]);
        expect(readdirSync(surroundings.folder)).toEqual(['mine.txt']);
      });
    },
  );
}
