import { readFileSync } from 'node:fs';

/** The kernel's settings that decide whether a user may make namespaces; not every kernel has each of them. */
const SETTINGS = [
  'user/max_user_namespaces',
  'user/max_mnt_namespaces',
  'kernel/unprivileged_userns_clone',
  'kernel/apparmor_restrict_unprivileged_userns',
];

/** What these settings are now: what was tried under others says nothing. */
export function namespaceSettings(): readonly string[] {
  return SETTINGS.map((name) => {
    try {
      return readFileSync(`/proc/sys/${name}`, 'utf8').trim();
    } catch {
      // This kernel does not have it, or /proc/sys is not to be seen here.
      return '';
    }
  });
}
