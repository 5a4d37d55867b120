/** Bits that the kernel drops when it takes a 32-bit argument. */
const HIGH = 0xdeadbeef_00000000n;

const BITS = Array.from({ length: 33 }, (_, bit) => 2n ** BigInt(bit));

/** Each value as it is, with a high half, and with its sign extended. */
const halves = (low: readonly bigint[]): bigint[] =>
  low.flatMap((value) => [value, value | HIGH, BigInt.asIntN(32, value)]);

const FAMILIES = [
  ...Array.from({ length: 48 }, (_, family) => BigInt(family)),
  ...halves([1n, 2n, 10n, 16n, 17n, 38n, 40n]),
];

const flags = halves([
  ...[0n, 8n, 0x11n, 0x20008n, 0x50f00n, 0x3d0f00n, 0x01200011n, 0x7e020000n, 0xffffffffn],
  ...BITS,
]).map((value) => [value]);

/** Arguments at, beside and far from every border that the rules draw, for each call judged by arguments. */
export const SAMPLES: Readonly<Record<string, readonly (readonly bigint[])[]>> = {
  clone: flags,
  unshare: flags,
  personality: flags,
  ioctl: halves([
    ...[0n, 0xffffffffn, 0x5401n, 0x80045430n],
    ...[0x5412n, 0x541cn, 0x5423n].flatMap((request) => [request, ...BITS.map((bit) => request ^ bit)]),
  ]).map((request) => [0x5412n, request, 0x5412n]),
  socket: FAMILIES.flatMap((family) =>
    [1n, 2n, 3n, 5n, 6n, 10n, 0o2000001n, 0o4002n, HIGH | 1n, HIGH | 3n].flatMap((type) =>
      [0n, 1n, 2n, 6n, 15n, 17n, 132n, 256n, 262n, HIGH, HIGH | 6n].map((protocol) => [
        family,
        type,
        protocol,
      ]),
    ),
  ),
  socketpair: FAMILIES.map((family) => [family]),
};
