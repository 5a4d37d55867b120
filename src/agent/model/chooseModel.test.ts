import { describe, expect, it } from 'vitest';
import { chooseModel, modelName } from './chooseModel.ts';

describe('the model of an agent', () => {
  it('is the one that is named, with the key of its provider', () => {
    const environment = { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o', GOOGLE_GENERATIVE_AI_API_KEY: 'g' };
    expect(chooseModel({ model: 'openai/gpt-x' }, environment)).toEqual({
      provider: 'openai',
      name: 'gpt-x',
      key: 'o',
    });
    expect(chooseModel({ model: 'google/gemini-x' }, environment)).toMatchObject({ key: 'g' });
    expect(chooseModel({ model: 'anthropic/claude-x' }, environment)).toMatchObject({ key: 'a' });
  });

  it('is that of the first key that is there, where none is named', () => {
    const named = (environment: Record<string, string>) =>
      modelName(chooseModel({}, environment)).split('/')[0];
    expect(named({ GOOGLE_GENERATIVE_AI_API_KEY: 'g', OPENAI_API_KEY: 'o', ANTHROPIC_API_KEY: 'a' })).toBe(
      'anthropic',
    );
    expect(named({ GOOGLE_GENERATIVE_AI_API_KEY: 'g', OPENAI_API_KEY: 'o', ANTHROPIC_API_KEY: '' })).toBe(
      'openai',
    );
    expect(named({ GOOGLE_GENERATIVE_AI_API_KEY: 'g' })).toBe('google');
    expect(() => chooseModel({}, {})).toThrow(/none of ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_/);
  });

  it('of an OpenAI-compatible server gets no key but the one that is named for it', () => {
    const environment = { OPENAI_API_KEY: 'o', MY_KEY: 'm' };
    const wish = { model: 'openai-compatible/org/name:8b', baseUrl: 'http://127.0.0.1:1/v1' };
    const chosen = { provider: 'openai-compatible', name: 'org/name:8b', baseUrl: 'http://127.0.0.1:1/v1' };
    expect(chooseModel(wish, environment)).toEqual(chosen);
    expect(chooseModel({ ...wish, keyVariable: 'MY_KEY' }, environment)).toEqual({ ...chosen, key: 'm' });
    expect(() => chooseModel({ ...wish, keyVariable: 'NO_KEY' }, environment)).toThrow(/NO_KEY is not set/);
  });

  it('is refused where it is none, or cannot be asked', () => {
    const environment = { OPENAI_API_KEY: 'o' };
    for (const model of ['', 'gpt', '/gpt', 'openai/', 'toString/x', 'nobody/x'])
      expect(() => chooseModel({ model }, environment)).toThrow(/is no model/);
    expect(() => chooseModel({ model: 'anthropic/x' }, environment)).toThrow(/ANTHROPIC_API_KEY is not set/);
    for (const baseUrl of ['ftp://a', 'nonsense', ''])
      expect(() => chooseModel({ model: 'openai-compatible/x', baseUrl }, {})).toThrow(/cannot be at/);
    expect(() => chooseModel({ model: 'openai/x', baseUrl: 'http://a' }, environment)).toThrow(/--base-url/);
  });
});
