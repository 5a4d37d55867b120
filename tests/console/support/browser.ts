import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';

/** Why there is no browser here, with what would bring one; undefined where there is one. */
export const whyNoBrowser = existsSync(CHROMIUM)
  ? undefined
  : `no ${CHROMIUM}; apt-get install --no-install-recommends chromium`;

/** Asks nobody on the network for anything of its own. */
const QUIET = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: QUIET });
}
