import { writeFileSync } from 'node:fs';
import type { LauncherSpec } from './launch.ts';
import { launcherArguments, type Orders, writeOrders } from './launcher.ts';

/** The command line of a launcher that is bash. */
export function bashCommand({
  bash,
  enter,
  steps,
  orders,
}: Pick<LauncherSpec, 'bash' | 'enter' | 'steps' | 'orders'>): string[] {
  return [...enter, ...launcherArguments(bash, steps, orders)];
}

/** Writes the orders to `file`; what it answers is for the launcher's descriptor. */
export function sendToBash(orders: Orders, file: string): string {
  const { text, variables } = writeOrders(orders);
  writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  return `\n${variables}`;
}
