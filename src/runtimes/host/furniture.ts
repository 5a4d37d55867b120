/** What is put into every sandbox that has a file system of its own. */

/** The user and group id that programs see themselves as. */
export const INSIDE_ID = 1000;

/** The folders of the sandbox's file system that programs may write to, by where they see them. */
export const WRITABLE = { workspace: '/workspace', tmp: '/tmp', shm: '/dev/shm' } as const;

/** Files of our own that stand in for the host's, by where programs see them. */
export const STAND_INS = {
  passwd: {
    path: '/etc/passwd',
    text: `root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nsandbox:x:${INSIDE_ID}:${INSIDE_ID}:sandbox:/workspace:/bin/bash\n`,
  },
  group: { path: '/etc/group', text: `root:x:0:\nsandbox:x:${INSIDE_ID}:\n` },
  hosts: { path: '/etc/hosts', text: '127.0.0.1 localhost glovebox\n::1 localhost\n' },
  'nsswitch.conf': { path: '/etc/nsswitch.conf', text: 'passwd: files\ngroup: files\nhosts: files dns\n' },
} as const;
