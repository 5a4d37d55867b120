/** The imports that are blocked or reported when nobody wrote a list; shell has none. */
export const DEFAULT_BLOCKED_IMPORTS: readonly string[] = Object.freeze([
  'python:os',
  'python:subprocess',
  'python:shutil',
  'python:pathlib',
  'python:socket',
  'javascript:child_process',
  'javascript:fs',
  'javascript:net',
  'javascript:dgram',
  'javascript:http',
  'javascript:https',
  'javascript:worker_threads',
  'javascript:cluster',
  'javascript:vm',
]);
