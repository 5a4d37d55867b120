/** The same program under the same limits comes to the same on every runtime. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type ExecutionResult,
  getSandbox,
  LANGUAGE_NAMES,
  type LanguageName,
  type LimitName,
  resultToJson,
} from '../../src/index.ts';
import { turns } from '../contract/holdToContract.ts';
import {
  type Expected,
  languageOf,
  PARITY_PROGRAMS,
  type ParityProgram,
  readProgram,
} from '../programs/parity/programs.ts';
import { interpretersOf } from '../support/interpreters.ts';
import { describeMissing, TARGETS, type Target } from '../support/targets.ts';

/** How many sandboxes there are at a time; more would only wait for the processors. */
const AT_A_TIME = 2;

/** A program may wait for its turn, on every runtime. */
const TEST_TIMEOUT_MS = 300_000;

const LIMITS = { memoryMb: 256, diskMb: 64, maxProcesses: 40 } as const;
const HELD_AS: Readonly<Record<keyof typeof LIMITS, LimitName>> = {
  memoryMb: 'memoryMb',
  diskMb: 'diskMb',
  maxProcesses: 'processes',
};

const takeTurn = turns(AT_A_TIME);

const scratch = mkdtempSync(join(tmpdir(), 'parity-test-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const isPlain = ({ capabilities }: Target): boolean => capabilities.isolation === 'process';
const held = await Promise.all(
  TARGETS.filter((target) => !isPlain(target)).map(async (target) => ({
    target,
    versions: await interpretersOf(target),
  })),
);
const plain = TARGETS.filter(isPlain);

for (const language of LANGUAGE_NAMES) {
  const groups = groupByVersion(language);
  describe(`in ${language}, ${describeGroups(groups)}`, () => {
    for (const program of PARITY_PROGRAMS.filter((one) => languageOf(one) === language)) {
      it.concurrent(
        titleOf(program),
        async () => {
          const results = await runAll(
            groups.flatMap(({ targets }) => targets).filter(canHold(program)),
            program,
          );
          for (const [target, result] of results) {
            expect(comparable(result), target.name).toEqual(expectedJson(program.expected));
            expect(result.meta, target.name).toMatchObject(expectedMeta(program.expected));
          }
          for (const { targets } of groups) {
            const compared = results.filter(([target]) => targets.includes(target));
            const [reference] = compared.map(([, result]) => comparable(result));
            expect(byName(compared, comparable)).toEqual(byName(compared, () => reference));
          }
          if (program.notPlain !== undefined) return;
          const { outcome, exitCode } = program.expected;
          const ends = await runAll(plain.filter(canHold(program)), program);
          expect(byName(ends, (result) => [result.outcome, result.exitCode])).toEqual(
            byName(ends, () => [outcome, exitCode]),
          );
        },
        TEST_TIMEOUT_MS,
      );
    }
  });
}

describe('what is compared', () => {
  it('is a program of its own in each file', () => {
    const files = new Set(PARITY_PROGRAMS.map(({ file }) => file));
    expect(files.size).toBeGreaterThanOrEqual(40);
    expect(new Set(PARITY_PROGRAMS.map(titleOf)).size).toBe(PARITY_PROGRAMS.length);
  });
});

describeMissing('the same on every runtime');

interface Group {
  readonly version: string;
  readonly targets: readonly Target[];
}

/** Only what one and the same interpreter printed can be compared. */
function groupByVersion(language: LanguageName): Group[] {
  const found = held.map(({ versions }) => versions.get(language)).filter((version) => version !== undefined);
  return [...new Set(found)].map((version) => ({
    version,
    targets: held.filter(({ versions }) => versions.get(language) === version).map(({ target }) => target),
  }));
}

function describeGroups(groups: readonly Group[]): string {
  const absent = held
    .map(({ target }) => target)
    .filter((target) => !groups.some(({ targets }) => targets.includes(target)));
  return [
    ...groups.map(({ version, targets }) => `${version} of ${targets.map(({ name }) => name).join(', ')}`),
    ...absent.map(({ name }) => `left out: ${name}, which has none`),
  ].join('; not compared with ');
}

function titleOf({ file, about, notPlain }: ParityProgram): string {
  const name = `${file}${about === undefined ? '' : `: ${about}`}`;
  return notPlain === undefined ? name : `${name} (not as a plain process: ${notPlain})`;
}

function canHold({ needsMemoryGroup }: ParityProgram): (target: Target) => boolean {
  return ({ capabilities }) =>
    !needsMemoryGroup || !['rlimit', 'none'].includes(capabilities.limits.memoryMb);
}

function runAll(
  targets: readonly Target[],
  program: ParityProgram,
): Promise<(readonly [Target, ExecutionResult])[]> {
  return Promise.all(
    targets.map(async (target) => [target, await takeTurn(() => run(target, program))] as const),
  );
}

function run(target: Target, program: ParityProgram): Promise<ExecutionResult> {
  const { runtime, capabilities } = target;
  const limits = Object.entries(LIMITS).filter(
    ([name]) => capabilities.limits[HELD_AS[name as keyof typeof LIMITS]] !== 'none',
  );
  const { file, source = (bytes) => bytes, options } = program;
  return getSandbox({ runtime, cwd: scratch }).execute(source(readProgram(file)), {
    language: languageOf(program),
    timeout: 30,
    maxOutputKb: 64,
    ...Object.fromEntries(limits),
    ...options,
  });
}

/** The whole result as every surface prints it, but for what legitimately differs. */
function comparable(result: ExecutionResult): Record<string, unknown> {
  const { duration: _duration, meta: _meta, ...rest } = resultToJson(result);
  return rest;
}

function expectedJson({ outcome, exitCode, truncated, files, ...texts }: Expected): unknown {
  const text = (wanted: string | RegExp = '') =>
    typeof wanted === 'string' ? wanted : expect.stringMatching(wanted);
  return {
    outcome,
    exit_code: exitCode,
    ok: outcome === 'exited' && exitCode === 0,
    timed_out: outcome === 'timed_out',
    truncated: truncated === true,
    stdout: text(texts.stdout),
    stderr: text(texts.stderr),
    ...(files === undefined ? {} : { files }),
  };
}

function expectedMeta({ stdoutBytes, stderrBytes }: Expected): Record<string, number> {
  return {
    ...(stdoutBytes === undefined ? {} : { stdoutBytes }),
    ...(stderrBytes === undefined ? {} : { stderrBytes }),
  };
}

function byName<Value>(
  results: readonly (readonly [Target, ExecutionResult])[],
  value: (result: ExecutionResult) => Value,
): Record<string, Value> {
  return Object.fromEntries(results.map(([{ name }, result]) => [name, value(result)]));
}
