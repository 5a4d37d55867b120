/** An option that nobody knows may have asked for more isolation: it is refused wherever it is given. */
import { describe, expect, it } from 'vitest';
import {
  createSandbox,
  type GetSandboxOptions,
  getSandbox,
  runCode,
  SandboxManager,
} from '../../src/index.ts';

const refused = (option: string): object => ({
  code: 'INPUT_INVALID',
  message: expect.stringContaining(`"${option}"`),
  hint: expect.stringMatching(/^(Known options: |Give it to execute)/),
});
const given = (options: object): object => options;

describe('an option that nobody knows', () => {
  it.each([
    ['minIsolation', { runtime: 'local', minIsolation: 'kernel' }],
    ['wram', { runtime: 'local', wram: true }],
    ['warm.mni', { runtime: 'local', warm: { mni: 1 } }],
    ['runtime', { runtime: 3 }],
    ['configFile', { configFile: 3 }],
    ['cwd', { cwd: 3 }],
    ['gate', { gate: 3 }],
    ['warm', { warm: 'yes' }],
  ])('is refused by getSandbox before anything runs: %s', async (option, options) => {
    const sandbox = getSandbox(given(options) as GetSandboxOptions);
    await expect(sandbox.execute('print(1)')).rejects.toMatchObject(refused(option));
    await expect(sandbox.warmUp()).rejects.toMatchObject(refused(option));
    await sandbox.close();
  });

  it('is refused with those that there are where it stands', async () => {
    const sandbox = getSandbox(given({ warm: { mni: 1 } }) as GetSandboxOptions);
    const hint = expect.stringMatching(/^Known options: min, max, /);
    await expect(sandbox.execute('print(1)')).rejects.toMatchObject({ hint });
  });

  it('is refused with the call that knows it', async () => {
    const sandbox = getSandbox(given({ minIsolation: 'kernel' }) as GetSandboxOptions);
    await expect(sandbox.execute('print(1)')).rejects.toMatchObject({ hint: 'Give it to execute().' });
    const other = getSandbox({ runtime: 'local' }).execute('print(1)', given({ runtime: 'docker' }));
    await expect(other).rejects.toMatchObject({ hint: 'Give it to getSandbox().' });
  });

  it('is refused by whatever else makes sandboxes', async () => {
    const options = given({ minIsolaton: 'kernel' });
    await expect(createSandbox(options)).rejects.toMatchObject(refused('minIsolaton'));
    expect(() => new SandboxManager(options)).toThrow(expect.objectContaining(refused('minIsolaton')));
    expect(await runCode('print(1)', options)).toContain('minIsolaton');
  });
});
