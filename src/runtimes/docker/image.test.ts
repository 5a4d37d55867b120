import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { commandFor, type Image, interpreterIn, LOOK, parseLook } from './image.ts';

describe('a look inside', () => {
  it('finds what this machine has, as it would in an image', () => {
    const { stdout } = spawnSync('/bin/sh', ['-c', LOOK], { env: { PATH: '/usr/bin:/bin' } });
    const look = parseLook(stdout.toString());
    expect(look?.facts.get('kernel')).toMatch(/^\d+\./);
    expect(look?.facts.get('CapEff')).toMatch(/^[0-9a-f]{16}$/);
    expect(look?.interpreters.get('shell')).toEqual({
      path: expect.stringMatching(/^\/.*bash$/),
      version: expect.stringMatching(/^\d+\.\d+/),
    });
  });

  it('leaves out a language that is not there or does not run', () => {
    const { stdout } = spawnSync('/bin/sh', ['-c', LOOK], { env: { PATH: '/nowhere' } });
    expect(parseLook(stdout.toString())?.interpreters.size ?? 0).toBe(0);
    expect(parseLook('language python\nError: no\n\nlanguage end\nend\n')?.interpreters.size).toBe(0);
  });

  it('is nothing when it was cut off', () => {
    expect(parseLook('fact kernel 6.1\nlanguage python\n/usr/bin/python3')).toBeUndefined();
  });
});

describe('an image', () => {
  const image: Image = {
    name: 'python:3.11-slim',
    id: 'sha256:1',
    searchPath: '/bin',
    variables: [],
    volumes: [],
  };

  it('that lacks a language says so, with the fix', () => {
    const content = {
      interpreters: new Map([['python', { path: '/usr/bin/python3', version: '3.11.2' }]] as const),
    };
    expect(interpreterIn(image, content, 'python').version).toBe('3.11.2');
    expect(() => interpreterIn(image, content, 'javascript')).toThrow(
      expect.objectContaining({
        code: 'LANGUAGE_UNAVAILABLE',
        message: 'The image python:3.11-slim has no node to run javascript.',
        hint: expect.stringContaining('languages.javascript.image'),
      }),
    );
  });

  it('that is missing comes by a command, which nobody runs for you', () => {
    expect(commandFor('glovebox-sandbox:latest')).toBe('glovebox images build');
    expect(commandFor('python:3.11-slim')).toBe('docker pull python:3.11-slim');
  });
});
