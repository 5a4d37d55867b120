import { describe, expect, it } from 'vitest';
import { DEFAULT_BLOCKED_IMPORTS } from '../policy/blockedImports.ts';
import { blockedMessage, inspectImports } from './inspect.ts';

describe('the import check', () => {
  it('names each module once, in order of appearance', async () => {
    const code = 'import socket\nimport os.path\nimport socket';
    const { blockedImports } = await inspectImports(code, 'python', DEFAULT_BLOCKED_IMPORTS);
    expect(blockedImports).toEqual(['socket', 'os']);
  });

  it('looks for another language under its own names', async () => {
    expect(await inspectImports("import 'fs'", 'javascript', DEFAULT_BLOCKED_IMPORTS)).toMatchObject({
      blockedImports: ['fs'],
    });
    expect(await inspectImports('import fs', 'python', DEFAULT_BLOCKED_IMPORTS)).toMatchObject({
      blockedImports: [],
    });
  });

  it('says that there is none for shell', async () => {
    expect(await inspectImports('import os', 'shell', ['os'])).toEqual({
      parsed: false,
      blockedImports: [],
      findings: [],
      notChecked: 'There is no import check for shell.',
    });
  });

  it('refuses an unusable list', async () => {
    await expect(inspectImports('', 'python', ['ruby:x'])).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('the message about blocked imports', () => {
  it('names modules, lines, a way round each and the setting', async () => {
    const inspection = await inspectImports('import os\nimport left_pad\nimport os.path', 'python', [
      'os',
      'left_pad',
    ]);
    expect(blockedMessage(inspection)).toBe(
      'The code was not run, because it imports what is blocked here: os (lines 1, 3), left_pad (line 2). ' +
        'Instead of os: use plain open(...) on files in the working folder. ' +
        'Instead of left_pad: do without it, with the language itself and its other modules. ' +
        'The operator can change the list with SANDBOX_BLOCKED_IMPORTS.',
    );
  });

  it('repeats nothing from the code that could mislead a reader', async () => {
    const inspection = await inspectImports("require('fs/\\n\\u001b[2J')", 'javascript', ['fs']);
    expect(inspection.findings).toMatchObject([{ name: 'fs' }]);
  });

  it('is empty where nothing was blocked', async () => {
    expect(blockedMessage(await inspectImports('x = 1', 'python', ['os']))).toBe('');
  });
});
