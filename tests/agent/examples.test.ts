import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ensureBuilt, REPOSITORY } from '../e2e/support/build.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { useHome } from './support/home.ts';

const home = useHome();

describeWith(['bubblewrap'], 'the examples for agents', () => {
  it('agent-builder.mjs lets a model compute its answer', async () => {
    await ensureBuilt();
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(REPOSITORY, 'examples/agent-builder.mjs')],
      { cwd: home.folder, env: { ...home.env, SANDBOX_TYPE: 'bubblewrap' }, timeout: 50_000 },
    );
    expect(stdout).toBe('It is 42.\n');
  });
});
