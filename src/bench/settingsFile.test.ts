import { describe, expect, it } from 'vitest';
import { loadSettings } from '../config/index.ts';
import { settingsFile } from './settingsFile.ts';

const loaded = await loadSettings({
  env: { SANDBOX_PYTHON: '/usr/bin/python3', SANDBOX_AUDIT: 'on', SANDBOX_TIMEOUT_SEC: '3' },
  homeDir: '/nowhere',
});

describe('the settings of a bench', () => {
  it("keep where things are on this machine, record nothing, and leave the user's other wishes out", () => {
    expect(JSON.parse(settingsFile(loaded.settings))).toEqual({
      security: {
        sandbox: {
          python: '/usr/bin/python3',
          docker_image: 'glovebox-sandbox:latest',
          ...{ store_code: 'never', audit: 'off' },
        },
      },
    });
  });

  it('are changed by a row', () => {
    expect(JSON.parse(settingsFile(loaded.settings, { local_isolation: 'none' }))).toMatchObject({
      security: { sandbox: { local_isolation: 'none' } },
    });
  });
});
