import { describe, expect, it } from 'vitest';
import { packageArguments } from './buildImage.ts';

describe('the packages of an image', () => {
  it('are one build argument for each language', () => {
    expect(
      packageArguments({ python: ['numpy', 'pandas==2.2.3'], javascript: ['@scope/a@1'], shell: ['jq'] }),
    ).toEqual({ PACKAGES: 'numpy pandas==2.2.3', JAVASCRIPT_PACKAGES: '@scope/a@1', SHELL_PACKAGES: 'jq' });
    expect(packageArguments({})).toEqual({ PACKAGES: '', JAVASCRIPT_PACKAGES: '', SHELL_PACKAGES: '' });
  });

  it.each(['--index-url=x', 'a b', 'a;b', '$(a)', '-r', ''])('are never %j', (name) => {
    for (const language of ['python', 'javascript', 'shell']) {
      expect(() => packageArguments({ [language]: ['good', name] })).toThrow(
        expect.objectContaining({ code: 'INPUT_INVALID' }),
      );
    }
  });
});
