import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

/** Where system programs live, looked at after the caller's PATH. */
const SYSTEM_FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

/** Finds a program as a shell would, the system's folders included; undefined when there is none. */
export async function findExecutable(
  name: string,
  searchPath: string = process.env['PATH'] ?? '',
): Promise<string | undefined> {
  const candidates = name.includes('/')
    ? [name]
    : [...searchPath.split(delimiter).filter(isAbsolute), ...SYSTEM_FOLDERS].map((folder) =>
        join(folder, name),
      );
  for (const candidate of candidates) {
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    // Absent, unreadable or not executable: in each case not a program that can be started.
    return false;
  }
}
