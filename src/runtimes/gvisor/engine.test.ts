import { describe, expect, it } from 'vitest';
import { describeEngine, engineNotes } from './engine.ts';

const FLAGS = `  -platform string
    	specifies which platform to use
  -overlay2 value
    	wrap mounts with overlayfs
`;

describe('an engine', () => {
  it.each([
    ['runsc version 0.0~20221219.0\nspec: 1.0.2-dev\n', '20221219.0'],
    ['runsc version release-20250707.0\nspec: 1.1.0-rc.1\n', '20250707.0'],
  ])('is known by its version: %j', (printed, version) => {
    expect(describeEngine(printed, 'ptrace\nkvm\n', FLAGS)).toMatchObject({ version });
  });

  it.each([
    ['kvm\nptrace\n', 'ptrace'],
    ['ptrace\nkvm\nsystrap\n', 'systrap'],
  ])('that offers %j is used with %s', (platforms, platform) => {
    expect(describeEngine('runsc version x', platforms, FLAGS)).toMatchObject({ platform });
  });

  it('has flags', () => {
    expect(describeEngine('runsc version x', 'ptrace', FLAGS)).toMatchObject({
      flags: new Set(['platform', 'overlay2']),
    });
  });

  it.each([
    ['without a platform that does not hang', 'runsc version x', 'kvm', /no platform that works here.*kvm/],
    ['that is something else', 'GNU bash, version 5', 'ptrace', /not gVisor's runsc/],
  ])('%s is refused with what to install', (_, version, platforms, reason) => {
    expect(describeEngine(version, platforms, FLAGS)).toEqual({
      reason: expect.stringMatching(reason),
      fix: expect.stringContaining('apt-get install runsc'),
    });
  });

  it('is called old when it is, and not when nobody knows', () => {
    expect(engineNotes({ version: '20221219.0' })).toEqual([expect.stringContaining('20221219.0 is old')]);
    expect(engineNotes({ version: '20260101.0' })).toEqual([]);
    expect(engineNotes({ version: 'VERSION_MISSING' })).toEqual([]);
  });
});
