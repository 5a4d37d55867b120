import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ABIS, SYSCALLS } from './syscalls.ts';

const HEADERS = {
  x64: '/usr/include/x86_64-linux-gnu/asm/unistd_64.h',
  arm64: '/usr/include/asm-generic/unistd.h',
} as const;

function definitions(header: string): Map<string, number> {
  const lines = readFileSync(header, 'utf8').matchAll(/^#define __NR_(\w+)\s+(\d+)$/gm);
  return new Map(Array.from(lines, ([, name = '', number]) => [name, Number(number)]));
}

describe.each(['x64', 'arm64'] as const)('the numbers for %s', (architecture) => {
  const header = HEADERS[architecture];
  const missing = !existsSync(header);

  it.skipIf(missing)(
    `agree with the kernel's header${missing ? ` (skipped: ${header} is missing)` : ''}`,
    () => {
      const defined = definitions(header);
      // In asm-generic the name "syscalls" stands for how many there are.
      const newest = Math.max(
        ...[...defined].filter(([name]) => name !== 'syscalls').map(([, number]) => number),
      );
      const ours = Object.entries(SYSCALLS).map(([name, numbers]) => [name, numbers[architecture]] as const);
      const known = ours.filter(([, number]) => number === undefined || number <= newest);

      expect(Object.fromEntries(known)).toEqual(
        Object.fromEntries(known.map(([name]) => [name, defined.get(name)])),
      );
      expect(known.length).toBeGreaterThan(60);
    },
  );

  it.skipIf(missing)(`cover what the header has${missing ? ` (skipped: ${header} is missing)` : ''}`, () => {
    const last = ABIS[architecture].knownNumbers[1][1];
    const isKnown = (number: number): boolean =>
      ABIS[architecture].knownNumbers.some(([from, to]) => from <= number && number <= to);
    // 403 to 423 are the calls with 64-bit time of 32-bit machines.
    const outside = [...definitions(header)].filter(([, number]) => !isKnown(number) && number <= last);
    expect(outside.filter(([, number]) => number < 403 || number > 423)).toEqual([]);
  });
});

it('lists what only x64 has', () => {
  const absent = Object.entries(SYSCALLS).flatMap(([name, { arm64 }]) => (arm64 === undefined ? [name] : []));
  expect(absent).toEqual([
    '_sysctl',
    'inotify_init',
    'ioperm',
    'iopl',
    'modify_ldt',
    'sysfs',
    'uselib',
    'ustat',
  ]);
});

it('gives every call a number of its own', () => {
  for (const architecture of ['x64', 'arm64'] as const) {
    const numbers = Object.values(SYSCALLS).flatMap((row) => row[architecture] ?? []);
    expect(new Set(numbers).size).toBe(numbers.length);
  }
});
