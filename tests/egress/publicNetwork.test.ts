import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** A network in which some public addresses are our own, and our own name server is the only one. */
const ENTER = `
mount --bind "$1" /etc/resolv.conf &&
ip link set lo up && ip addr add 9.9.9.9/32 dev lo && ip addr add 2606:4700::1/128 dev lo &&
ip route add 9.9.9.0/24 dev lo && shift && exec "$@"`;

const enter = (...command: string[]): [string, string[]] => {
  const [resolv = '', ...program] = command;
  return ['unshare', ['--net', '--mount', 'sh', '-c', ENTER, 'sh', resolv, ...program]];
};

const possible = process.platform === 'linux' && spawnSync(...enter('/dev/null', 'true')).status === 0;

describe.skipIf(!possible)(
  `in a network of its own${possible ? '' : ' (skipped: only root can make one, with ip)'}`,
  () => {
    let folder: string;
    let results: Record<string, unknown>;

    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'egress-network-'));
      const resolv = join(folder, 'resolv.conf');
      // Neither the search domain nor the hosts file may have a say.
      writeFileSync(resolv, 'nameserver 127.0.0.1\nsearch good.test\n');
      const tsx = join(import.meta.dirname, '../../node_modules/.bin/tsx');
      const program = join(import.meta.dirname, 'programs/publicNetwork.ts');
      const [file, args] = enter(resolv, process.execPath, tsx, program);
      results = JSON.parse(execFileSync(file, args, { encoding: 'utf8', timeout: 50_000 }));
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    const both = (name: string): string[] => [`${name} 1`, `${name} 28`];

    it.each([
      ['good.test', '200 ok', ['::ffff:9.9.9.9']],
      ['six.test', '200 ok', ['2606:4700::1']],
      // The first of its addresses take no connection.
      ['next.test', '200 ok', ['::ffff:9.9.9.9']],
      ['slow.test', '504 timeout', []],
      ['none.test', '502 unreachable', []],
      ['half.test', '403 private_address', []],
      ['halfsix.test', '403 private_address', []],
      ['unknown.test', '502 unresolved', []],
      ['silent.test', '504 timeout', []],
    ])('%s ends with %s', (name, answer, dialled) => {
      expect(results[name]).toEqual({ answer, dialled, asked: both(name) });
    });

    it('a name is asked for once for each request, and its answer is what is dialled', () => {
      expect(results['rebinds.test']).toEqual({
        answers: ['200 ok', '403 private_address', '200 ok'],
        dialled: ['::ffff:9.9.9.9', '::ffff:9.9.9.9'],
        asked: 3,
      });
    });
  },
);
