import { describe, expect, it } from 'vitest';
import { interpretersIn, type Step, whyNoRoot } from './givenRoot.ts';

const FOLDER = 0o040755;

function way(...changes: Partial<Step>[]): Step[] {
  return changes.map((change, depth) => ({
    ...{ path: `/${'x/'.repeat(depth)}`, isFolder: true, uid: 0, mode: FOLDER },
    ...change,
  }));
}

describe('a folder can be a root', () => {
  it.each<[string, Step[]]>([
    ["when all is root's", way({}, {}, {})],
    ['when it is ours', way({}, {}, { uid: 1000, mode: 0o040700 })],
    ['in such a folder as /tmp', way({}, { mode: 0o041777 }, {})],
  ])('%s', (_, steps) => {
    expect(whyNoRoot(steps, 1000)).toBeUndefined();
  });

  it.each<[string, Step[], RegExp]>([
    ['when it is a file', way({}, { isFolder: false }), /^is not a folder$/],
    ['when its group may write to it', way({}, { mode: 0o040775 }), /^may be written to by other users$/],
    ['when everybody may, whatever its sticky bit', way({}, { mode: 0o041777 }), /^may be written to/],
    ["when it is somebody else's", way({}, { uid: 1001 }), /^belongs to the user 1001/],
    ['when a folder above is', way({}, { uid: 1001 }, {}), /^lies in \/x\/, which belongs to the user 1001/],
    [
      'when others may put another one in its place',
      way({}, { mode: 0o040777 }, {}),
      /^lies in \/x\/, which/,
    ],
  ])('but not %s', (_, steps, reason) => {
    expect(whyNoRoot(steps, 1000)).toMatch(reason);
  });
});

describe('the interpreters of a root', () => {
  it('are those that were found, and for the others there is an error', () => {
    const python = { path: '/usr/bin/python3', version: '3.11.2' };
    const found = interpretersIn('/r', { interpreters: new Map([['python', python]]) }, ['python', 'shell']);
    expect(found.get('python')).toEqual({ ...python, prefixes: [] });
    expect(found.get('shell')).toMatchObject({
      code: 'LANGUAGE_UNAVAILABLE',
      message: 'The root "/r" has no bash to run shell, or none that runs.',
      hint: expect.stringContaining('/usr/local/bin, /usr/bin, /bin'),
    });
    expect(found.has('javascript')).toBe(false);
  });
});
