/** Labels on everything that we ask an engine to make: they tell which process of which machine made it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { isAbandoned, ownedName } from '../host/owner.ts';

/** The label that says whose it is; its value is the name of `ownedName`. */
export const OWNER_LABEL = 'io.glovebox.owner';
const MACHINE_LABEL = 'io.glovebox.machine';
const BOOT_LABEL = 'io.glovebox.boot';

/** What a thing made for this sandbox is called: letters and digits in `part` tell the sandbox's things apart. */
export function nameFor(id: string, part: string): string {
  return ownedName(`${id}${part}`);
}

/** The labels for a thing of this name. */
export function labelsFor(name: string): Record<string, string> {
  return { [OWNER_LABEL]: name, [MACHINE_LABEL]: machine(), [BOOT_LABEL]: boot() };
}

/**
 * True for the labels of a thing whose process is gone. An engine may serve several machines: what another one
 * made cannot be judged from here.
 */
export function isLeftOver(labels: Readonly<Record<string, string>> | undefined | null): boolean {
  const owner = labels?.[OWNER_LABEL];
  if (owner === undefined || labels?.[MACHINE_LABEL] !== machine()) return false;
  return labels[BOOT_LABEL] !== boot() || isAbandoned(owner);
}

/** Not the machine's id itself, which is meant to stay on it (machine-id(5)). */
function machine(): string {
  const id = readFirst(['/etc/machine-id', '/var/lib/dbus/machine-id']) ?? hostname();
  return createHash('sha256').update(`glovebox ${id} ${hostname()}`).digest('hex').slice(0, 32);
}

function boot(): string {
  return readFirst(['/proc/sys/kernel/random/boot_id']) ?? 'unknown';
}

function readFirst(paths: readonly string[]): string | undefined {
  for (const path of paths) {
    try {
      const text = readFileSync(path, 'utf8').trim();
      if (text !== '') return text;
    } catch {
      // Not on this system, or not for us: the next one will do.
    }
  }
  return undefined;
}
