import { describe, expect, it } from 'vitest';
import { commandFor, type Image, interpreterIn } from './image.ts';

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
      seccomp: true,
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
