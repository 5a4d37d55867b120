import { SandboxError } from '../../errors.ts';

/** The workspace's name on every runtime, also where the real folder is another one. */
export const WORKSPACE = '/workspace';

/**
 * The components of a path below the workspace; an empty list is the workspace itself. Pure.
 * `root` is the workspace as the program sees it. Throws `INPUT_INVALID` or `PATH_OUTSIDE_WORKSPACE`.
 */
export function workspaceComponents(path: string, root: string = WORKSPACE): string[] {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} is not a path.`, {
      hint: 'Give a path relative to /workspace, or an absolute one below it.',
    });
  }
  const components: string[] = [];
  for (const component of relativeToRoot(path, root).split('/')) {
    if (component === '' || component === '.') continue;
    if (component !== '..') components.push(component);
    else if (components.pop() === undefined) throw outside(path);
  }
  return components;
}

function relativeToRoot(path: string, root: string): string {
  if (!path.startsWith('/')) return path;
  for (const prefix of new Set([root, WORKSPACE])) {
    if (path === prefix || path.startsWith(`${prefix}/`)) return path.slice(prefix.length);
  }
  throw outside(path);
}

/** The refusal of a path that does not stay inside. */
export function outside(path: string): SandboxError {
  const shown = path.length > 500 ? `${path.slice(0, 500)}…` : path;
  return new SandboxError('PATH_OUTSIDE_WORKSPACE', `${JSON.stringify(shown)} is not inside the workspace.`, {
    hint: 'Give a path relative to /workspace, or an absolute one below it; links are not followed.',
    details: { path: shown },
  });
}
