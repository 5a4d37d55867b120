import { BlockList } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPublicAddress } from './addresses.ts';

it.each([
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700::1111',
  '2001:4860:4860::8888',
  '2a00:1450::1',
  '::ffff:8.8.8.8',
  '::ffff:808:808',
  '64:ff9b::8.8.8.8',
  '64:ff9b::808:808',
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

const NOT_PUBLIC = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.0.192',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.19.255.255',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
];

it.each(NOT_PUBLIC)('%s is not, in any form', (address) => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  const forms = [
    address,
    `::ffff:${address}`,
    `::FFFF:${hex}`,
    `0:0:0:0:0:ffff:${hex}`,
    `0000:0000:0000:0000:0000:ffff:${hex}`,
    `::ffff:0:${address}`,
    `::${address}`,
    `64:ff9b::${address}`,
    `64:FF9B:0:0:0:0:${hex}`,
    `64:ff9b:1::${address}`,
    `2002:${hex}::1`,
    `2001:0:${hex}::1`,
    `2001:0:1:2:3:4:${hex}`,
    `fe80::5efe:${address}`,
  ];
  expect(forms.filter(isPublicAddress)).toEqual([]);
});

it.each([
  '::',
  '::1',
  '100::1',
  'fc00::1',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  'ff0e::1',
  '2001::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002::1',
  '3fff::1',
  '4000::1',
  '5f00::1',
  '64:ff9b:1::8.8.8.8',
  '::8.8.8.8',
  '2002:808:808::1',
])('%s is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

it.each([
  '',
  'localhost',
  '127.1',
  '2130706433',
  '0x7f.0.0.1',
  '8.8.8.08',
  '2606:4700::1111%eth0',
  '[::1]',
  '8.8.8.8 ',
])('%j is no address, and so not public', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

describe('any IPv6 address', () => {
  const group = fc.constantFrom(
    0,
    1,
    0x7f00,
    0x0a00,
    0x64,
    0xff9b,
    0xffff,
    0x2002,
    0x2001,
    0x2606,
    0xfe80,
    0x808,
  );
  const groups = fc.array(group, { minLength: 8, maxLength: 8 });

  /** The same address, as somebody else would write it. */
  function spellings(parts: readonly number[]): string[] {
    const [high = 0, low = 0] = parts.slice(6);
    const hex = parts.map((part) => part.toString(16));
    const full = hex.map((part) => part.padStart(4, '0').toUpperCase());
    const dotted = [high >> 8, high & 255, low >> 8, low & 255].join('.');
    const short = new URL(`http://[${hex.join(':')}]`).hostname.slice(1, -1);
    return [hex.join(':'), full.join(':'), short, [...hex.slice(0, 6), dotted].join(':')];
  }

  it('is judged alike in every spelling', () => {
    fc.assert(
      fc.property(groups, (parts) => {
        expect(new Set(spellings(parts).map(isPublicAddress)).size).toBe(1);
      }),
      { numRuns: 5000 },
    );
  });

  it('that the kernel would send to IPv4 is judged as that', () => {
    const loopback = new BlockList();
    loopback.addSubnet('127.0.0.0', 8, 'ipv4');
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffff }), (rest) => {
        const address = `::ffff:127.${rest >> 16}.${(rest >> 8) & 255}.${rest & 255}`;
        expect(loopback.check(address, 'ipv6')).toBe(true);
        expect(isPublicAddress(address)).toBe(false);
      }),
    );
  });
});
