import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import type { Folder } from '../host/folder.ts';

/** As many links as the kernel follows for one name. */
const MOST_LINKS = 40;

/**
 * What is at an absolute path in a root, as a program in that root would find it: a link stays inside, whatever
 * it names. Undefined where there is nothing that can be looked at.
 */
export function statInside(root: Folder, path: string): Stats | undefined {
  const way: Folder[] = [];
  const here = (): Folder => way.at(-1) ?? root;
  const left = path.split('/');
  let links = 0;
  try {
    let found = lstatSync(root.self);
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      if (name === '') continue;
      if (!found.isDirectory()) return undefined;
      if (name === '.') continue;
      if (name === '..') {
        way.pop()?.close();
        found = lstatSync(here().self);
        continue;
      }
      const entry = lstatSync(here().entry(name));
      if (!entry.isSymbolicLink()) {
        if (entry.isDirectory()) way.push(here().enter(name));
        found = entry;
        continue;
      }
      links++;
      if (links > MOST_LINKS) return undefined;
      const target = readlinkSync(here().entry(name));
      if (target.startsWith('/')) for (const folder of way.splice(0)) folder.close();
      left.unshift(...target.split('/'));
      found = lstatSync(here().self);
    }
    return found;
  } catch {
    // Absent, no folder, closed to us, or changed under our eyes: in each case nothing to be seen.
    return undefined;
  } finally {
    for (const folder of way) folder.close();
  }
}
