import { expect, it } from 'vitest';
import { loadModel } from './loadModel.ts';
import { optionalPackage } from './optionalPackage.ts';

it('loads a model of each provider', async () => {
  const loaded = await Promise.all([
    loadModel({ provider: 'anthropic', name: 'claude-x', key: 'k' }),
    loadModel({ provider: 'openai', name: 'gpt-x', key: 'k' }),
    loadModel({ provider: 'google', name: 'gemini-x', key: 'k' }),
    loadModel({ provider: 'openai-compatible', name: 'small', baseUrl: 'http://127.0.0.1:1/v1' }),
  ]);
  expect(loaded).toMatchObject([
    { provider: 'anthropic.messages', modelId: 'claude-x' },
    { provider: 'openai.responses', modelId: 'gpt-x' },
    { provider: 'google.generative-ai', modelId: 'gemini-x' },
    { provider: 'openai-compatible.chat', modelId: 'small' },
  ]);
});

it('names the package that is missing, and how to get it', async () => {
  const missing = 'no-such-package-of-glovebox';
  await expect(optionalPackage(missing, 'to try', () => import(missing))).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: 'The package no-such-package-of-glovebox is not installed, which is needed to try.',
    hint: 'Run: npm install no-such-package-of-glovebox',
  });
});

it('leaves every other failure of a package as it is', async () => {
  const broken = new Error('broken inside');
  await expect(optionalPackage('any', 'to try', () => Promise.reject(broken))).rejects.toBe(broken);
});
