import { describe, expect, it } from 'vitest';
import { DEFAULT_BLOCKED_IMPORTS } from '../policy/blockedImports.ts';
import { blockedModules } from './blockedImports.ts';

describe('the list of blocked imports', () => {
  it('counts an entry without a language for every language', () => {
    const list = ['os', 'python:socket', 'javascript:fs'];
    expect(blockedModules(list, 'python')).toEqual(new Set(['os', 'socket']));
    expect(blockedModules(list, 'javascript')).toEqual(new Set(['os', 'fs']));
  });

  it('has defaults for Python and JavaScript and none for shell', () => {
    expect(blockedModules(DEFAULT_BLOCKED_IMPORTS, 'python')).toContain('subprocess');
    expect(blockedModules(DEFAULT_BLOCKED_IMPORTS, 'javascript')).toContain('child_process');
    expect(blockedModules(DEFAULT_BLOCKED_IMPORTS, 'shell')).toEqual(new Set());
  });

  it('takes the node: prefix off', () => {
    expect(blockedModules(['javascript:node:fs'], 'javascript')).toEqual(new Set(['fs']));
  });

  it.each(['', 'python:', 'ruby:os', 'python:a b', 'os;', 'python:a..b', 'python:1a', '../fs', 'node:fs'])(
    'refuses %j, whatever language is asked for',
    (entry) => {
      expect(() => blockedModules([entry], 'shell')).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', hint: expect.stringMatching(/./) }),
      );
    },
  );
});
