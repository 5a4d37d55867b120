import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { workspaceComponents } from './workspacePath.ts';

const components = (path: string): string[] => workspaceComponents(path, '/tmp/box/workspace');

describe('paths of the workspace', () => {
  it.each([
    ['a.txt', ['a.txt']],
    ['./a//b/./c', ['a', 'b', 'c']],
    ['a/../b', ['b']],
    ['/workspace', []],
    ['/workspace/a', ['a']],
    ['/tmp/box/workspace/a', ['a']],
    ['.', []],
  ])('%j is %j', (path, expected) => {
    expect(components(path)).toEqual(expected);
  });

  it.each([
    '..',
    'a/../..',
    '/etc/passwd',
    '/workspace-evil/x',
    '/workspace/../etc',
    '/',
    '/tmp/box/workspace2',
  ])('%j is outside', (path) => {
    expect(() => components(path)).toThrow(expect.objectContaining({ code: 'PATH_OUTSIDE_WORKSPACE' }));
  });

  it.each(['', 'a\0b'])('%j is no path', (path) => {
    expect(() => components(path)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });

  it('never yields a component that could lead elsewhere', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('..', '.', '', 'a', 'workspace', '/'), { maxLength: 12 }),
        (parts) => {
          try {
            for (const component of components(parts.join('/') || 'x')) {
              expect(['', '.', '..']).not.toContain(component);
              expect(component).not.toContain('/');
            }
          } catch (error) {
            expect(error).toMatchObject({ code: 'PATH_OUTSIDE_WORKSPACE' });
          }
        },
      ),
    );
  });
});
