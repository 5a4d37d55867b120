import { expect, it } from 'vitest';
import { isAllowedHost, isOwnOrigin, namesAddress } from './hosts.ts';

it.each([
  [
    '192.168.1.5',
    ['192.168.1.5:8080', 'localhost:8080'],
    ['192.168.1.6:8080', '192.168.1.5', '192.168.1.5:80'],
  ],
  ['::ffff:10.0.0.1', ['10.0.0.1:8080'], ['10.0.0.2:8080']],
  ['fd00::1', ['[fd00::1]:8080', '[::1]:8080'], ['fd00::1:8080', '[fd00::2]:8080', 'evil.example:8080']],
])('a connection to %s is named by that address', (address, ours, others) => {
  const local = { address, port: 8080 };
  expect(ours.filter((host) => !namesAddress(host, local))).toEqual([]);
  expect(others.filter((host) => namesAddress(host, local))).toEqual([]);
});

it('a port that is not named is the usual one', () => {
  expect(namesAddress('localhost', { address: '127.0.0.1', port: 80 })).toBe(true);
  expect(isOwnOrigin('http://localhost', { address: '127.0.0.1', port: 80 }, [])).toBe(true);
  expect(isOwnOrigin('https://localhost', { address: '127.0.0.1', port: 443 }, [])).toBe(false);
});

it('nothing that only looks like a host is one, and nobody has the empty name', () => {
  const local = { address: '', port: 80 };
  const odd = [
    '',
    ':80',
    '[]',
    '[]:80',
    'localhost:',
    'localhost:80:80',
    'a@localhost',
    'localhost,evil',
    'localhost/',
    '*',
  ];
  expect(odd.filter((host) => namesAddress(host, local) || isAllowedHost(host, ['box']))).toEqual([]);
  expect(isAllowedHost('', [''])).toBe(false);
});
