/** What some tests need besides engines; each answers why it is not here and how it is had, or nothing. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** The browser of the tests. */
export const CHROMIUM = '/usr/bin/chromium';

export const PARTS = {
  matplotlib: () => {
    try {
      execFileSync(process.env['SANDBOX_PYTHON'] || 'python3', ['-c', 'import matplotlib'], {
        stdio: 'ignore',
      });
      return undefined;
    } catch {
      return 'the Python of the sandboxes has no matplotlib (on Debian: apt-get install python3-matplotlib)';
    }
  },
  chromium: () =>
    existsSync(CHROMIUM) ? undefined : `there is no ${CHROMIUM} (on Debian: apt-get install chromium)`,
} as const;
