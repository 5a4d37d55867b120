import { type Browser, chromium } from 'playwright-core';
import { CHROMIUM } from '../../e2e/support/parts.ts';

/** Asks nobody on the network for anything of its own. */
const QUIET = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: QUIET });
}
