import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSocketServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { answers, newSocketOf, removeDead, socketOf, surroundingsIn, sweepFolder } from './addresses.ts';
import { takeSocket } from './listen.ts';

const NAME = '0123456789abcdef';

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'addresses-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function listen(path: string): Promise<Server> {
  const server = createSocketServer();
  server.listen(path);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return server;
}

/** What a process leaves that is killed while it listens. */
async function leaveDead(path: string): Promise<void> {
  const code = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
  await once(spawn(process.execPath, ['-e', code, path], { stdio: 'ignore' }), 'exit');
}

describe('a socket', () => {
  it('answers, is dead, or is not there', async () => {
    const folder = newFolder();
    await listen(join(folder, 'alive'));
    await leaveDead(join(folder, 'dead'));
    expect(readdirSync(folder).sort()).toEqual(['alive', 'dead']);
    const all = ['alive', 'dead', 'missing'].map((name) => answers(join(folder, name)));
    expect(await Promise.all(all)).toEqual([true, false, false]);
  });

  it('is refused where its path is too long', () => {
    const code = { code: 'CONFIG_INVALID' };
    expect(() => socketOf(`/${'x'.repeat(100)}`, NAME)).toThrow(expect.objectContaining(code));
    expect(socketOf('/short', NAME)).toBe(`/short/${NAME}.sock`);
  });
});

describe('a dead socket', () => {
  it('is removed by one of many, and a live one by none', async () => {
    const folder = newFolder();
    const dead = socketOf(folder, NAME);
    await leaveDead(dead);
    const removed = await Promise.all(Array.from({ length: 20 }, () => removeDead(dead)));
    expect(removed.filter(Boolean)).toHaveLength(1);
    expect(readdirSync(folder)).toEqual([]);
    await listen(dead);
    expect(await removeDead(dead)).toBe(false);
    expect(await answers(dead)).toBe(true);
  });

  it('is not removed while somebody else has the right to, unless that one was killed long ago', async () => {
    const folder = newFolder();
    const dead = socketOf(folder, NAME);
    await leaveDead(dead);
    const { ino, ctimeNs } = lstatSync(dead, { bigint: true });
    const right = `${dead}.${ino}-${ctimeNs}`;
    writeFileSync(right, '');
    expect(await removeDead(dead)).toBe(false);
    expect(readdirSync(folder)).toHaveLength(2);
    utimesSync(right, 0, 0);
    expect([await removeDead(dead), await removeDead(dead)]).toEqual([false, true]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is swept with its log, and with what one left that was killed before it had a name', async () => {
    const folder = newFolder();
    await leaveDead(socketOf(folder, NAME));
    writeFileSync(join(folder, `${NAME}.log`), 'log');
    const other = 'fedcba9876543210';
    await listen(socketOf(folder, other));
    writeFileSync(join(folder, `${other}.log`), 'log');
    // No process has so large a number.
    await leaveDead(newSocketOf(folder, NAME, 4_194_304));
    await listen(newSocketOf(folder, NAME, process.pid));
    expect(await sweepFolder(folder)).toBe(1);
    expect(readdirSync(folder).sort()).toEqual(
      [`${NAME}.${process.pid}`, `${other}.log`, `${other}.sock`].sort(),
    );
    expect(surroundingsIn(folder)).toEqual([other]);
    expect(await sweepFolder(join(folder, 'missing'))).toBe(0);
  });
});

describe('the name of a socket', () => {
  it('is taken where its owner was killed, and not where somebody answers', async () => {
    const folder = join(newFolder(), 'made');
    mkdirSync(folder, { mode: 0o700 });
    await leaveDead(socketOf(folder, NAME));
    const [first, second] = [createServer(), createServer()];
    onTestFinished(() => void first.close());
    expect(await takeSocket(first, folder, NAME)).toBe(true);
    expect(await takeSocket(second, folder, NAME)).toBe(false);
    expect({ listening: second.listening, left: readdirSync(folder) }).toEqual({
      listening: false,
      left: [`${NAME}.sock`],
    });
    expect(statSync(socketOf(folder, NAME)).mode & 0o7777).toBe(0o600);
  });
});
