/**
 * Arguments for `bwrap` that show the system's programs and nothing else. All of the host would be simpler; but
 * bubblewrap goes through what is mounted below, and fails when another test unmounts something meanwhile.
 */
export const SYSTEM_VIEW: readonly string[] = [
  ...['--ro-bind', '/usr', '/usr'],
  ...['/bin', '/sbin', '/lib', '/lib64', '/etc'].flatMap((path) => ['--ro-bind-try', path, path]),
];
