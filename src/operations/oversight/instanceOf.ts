import { randomUUID } from 'node:crypto';
import type { Sandbox } from '../../sandbox/sandbox.ts';

const instances = new WeakMap<object, string>();

/** What no other sandbox has, of any process at any time: their ids are chosen by callers and come again. */
export function instanceOf(sandbox: Pick<Sandbox, 'id'>): string {
  const known = instances.get(sandbox);
  if (known !== undefined) return known;
  const instance = randomUUID();
  instances.set(sandbox, instance);
  return instance;
}
