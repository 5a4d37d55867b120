import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { dockerSeccompProfile } from '../../src/runtimes/docker/seccomp/profile.ts';
import { ABIS } from '../../src/runtimes/host/seccomp/syscalls.ts';
import { evaluate, objections } from './evaluate.ts';
import { judge } from './judge.ts';
import { SAMPLES } from './samples.ts';

interface Compiled {
  readonly program: Uint8Array;
  readonly numbers: Readonly<Record<string, number>>;
}

const COMPILE = fileURLToPath(new URL('./compile.py', import.meta.url));

/** As an engine does it, which is the only way to see the one for arm64 on another machine. */
function compile(profile: unknown): Compiled {
  const { status, stdout, stderr } = spawnSync('python3', ['-I', COMPILE], {
    encoding: 'utf8',
    input: JSON.stringify(profile),
  });
  if (status !== 0) throw new Error(`compile.py ended with ${status}: ${stderr}`);
  const { program, numbers } = JSON.parse(stdout) as { program: string; numbers: Record<string, number> };
  return { program: Buffer.from(program, 'hex'), numbers };
}

const loading = spawnSync('python3', ['-I', '-c', 'import ctypes; ctypes.CDLL("libseccomp.so.2")']);
const problem = loading.status === 0 ? undefined : 'python3 finds no libseccomp.so.2';
const required = (process.env['REQUIRED_RUNTIMES'] ?? '').split(',').includes('docker');
const reason = problem === undefined || required ? '' : ` (skipped: ${problem})`;

/** The bit that x32 sets in a number; its architecture is the one of x64. */
const X32 = 0x40000000;
const FOREIGN = { i386: 0x40000003, arm: 0x40000028, x64: 0xc000003e, arm64: 0xc00000b7 };

describe.skipIf(reason !== '').each(['x64', 'arm64'] as const)(
  `the profile for %s, compiled by libseccomp${reason}`,
  (architecture) => {
    const profile = dockerSeccompProfile(architecture);
    const auditArchitecture: number = ABIS[architecture].auditArchitecture;
    let compiled: Compiled;

    beforeAll(() => {
      if (problem !== undefined) throw new Error(`docker is required, but ${problem}.`);
      compiled = compile(profile);
    });

    const ask = (number: number, values: readonly bigint[] = [], audit = auditArchitecture) =>
      evaluate(compiled.program, { architecture: audit, number, arguments: values });

    it('is a program that the kernel takes, of a size that it reads quickly', () => {
      expect(objections(compiled.program)).toEqual([]);
      expect(compiled.program.length / 8).toBeLessThan(1000);
    });

    it('answers every number as the profile reads', () => {
      const names = new Map(Object.entries(compiled.numbers).map(([name, number]) => [number, name]));
      const range = Array.from({ length: 1000 }, (_, number) => number).filter(
        (number) => !Object.hasOwn(SAMPLES, names.get(number) ?? ''),
      );
      const answers = range.map((number) => [number, ask(number), ask(number, Array(6).fill(-1n))]);
      const wanted = range.map((number) => {
        const answer = judge(profile, names.get(number) ?? 'unknown');
        return [number, answer, answer];
      });
      expect(answers).toEqual(wanted);
    });

    it.each(Object.keys(SAMPLES))('answers every argument of %s as the profile reads', (name) => {
      const different = (SAMPLES[name] ?? []).filter(
        (values) => ask(compiled.numbers[name] ?? -1, values) !== judge(profile, name, values),
      );
      expect(different).toEqual([]);
    });

    it('kills what calls through another ABI', () => {
      const foreign = Object.values(FOREIGN).filter((audit) => audit !== auditArchitecture);
      const answers = [
        ...foreign.flatMap((audit) => [0, 1, 20, 39, 231].map((number) => ask(number, [], audit))),
        ...(architecture === 'x64' ? [0, 1, 39, 231, 512, 547].map((number) => ask(X32 + number)) : []),
      ];
      expect(new Set(answers)).toEqual(new Set(['kill']));
    });
  },
);
