import { deepStrictEqual } from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NetworkDecision } from '../egress/decision.ts';
import type { Enforced } from '../runtimes/runtime.ts';
import type { ExecutionMeta, ExecutionResult, NetworkRecord } from './result.ts';
import { resultFromJson } from './resultFromJson.ts';
import { resultToJson } from './resultJson.ts';

/** A record in which what is optional may be absent, and is never there as `undefined`. */
function record<Shape>(
  required: Record<string, fc.Arbitrary<unknown>>,
  optional: Record<string, fc.Arbitrary<unknown>> = {},
): fc.Arbitrary<Shape> {
  const requiredKeys = Object.keys(required);
  return fc.record(
    { ...required, ...optional },
    { requiredKeys, noNullPrototype: true },
  ) as fc.Arbitrary<Shape>;
}

/** JSON has no negative zero. */
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const count = fc.nat();
// Half characters and everything that has to be escaped, too.
const text = fc.string({
  unit: fc.oneof(fc.constantFrom('é', '\u{1f600}', '\ud800', '\0', '"'), fc.string()),
});
const texts = fc.array(text, { maxLength: 3 });
const bool = fc.boolean();
const nullable = (value: fc.Arbitrary<unknown>) => fc.option(value, { nil: null });

/** Names of files and of whatever else is data: none of them may be touched, whatever it looks like. */
const key = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'snake_case', 'camelCase', ''));
const mapOf = (value: fc.Arbitrary<unknown>) =>
  fc.array(fc.tuple(key, value), { maxLength: 4 }).map((entries) => Object.fromEntries(entries));

const LIMITS = ['memoryMb', 'diskMb', 'processes', 'cpu', 'timeoutSec'];
const limitsOf = (limit: fc.Arbitrary<unknown>, more: Record<string, fc.Arbitrary<unknown>> = {}) =>
  record({ ...Object.fromEntries(LIMITS.map((name) => [name, limit])), ...more });

const enforced = record<Enforced>(
  {
    isolation: fc.constantFrom('process', 'namespace', 'container', 'kernel', 'machine'),
    network: fc.constantFrom('none', 'allowlist', 'open'),
    filesystem: fc.constantFrom('private', 'host'),
    processes: fc.constantFrom('contained', 'best-effort'),
    seccomp: bool,
    uid: nullable(count),
    limits: limitsOf(
      record({
        value: nullable(number),
        by: fc.constantFrom('cgroup', 'rlimit', 'tmpfs', 'engine', 'timer', 'none'),
        default: bool,
      }),
    ),
  },
  { securityOptions: texts },
);

const decision = record<NetworkDecision>(
  {
    ...{ at: text, host: text, port: count, via: fc.constantFrom('connect', 'http'), allowed: bool },
    ...{ bytesUp: count, bytesDown: count, durationSec: number },
  },
  { method: text, code: fc.constantFrom('not_listed', 'timeout'), reason: text, address: text },
);

const network = record<NetworkRecord>({
  ...{ decisions: fc.array(decision, { maxLength: 2 }), dropped: count, bytesUp: count, bytesDown: count },
});

const meta = record<ExecutionMeta>(
  {
    ...{ runtime: text, language: fc.constantFrom('python', 'javascript', 'shell', null) },
    ...{ enforced: nullable(enforced), truncated: bool, timedOut: bool, blockedImports: texts },
    resourceLimits: limitsOf(nullable(number), { maxOutputKb: number }),
    ...{ stdoutBytes: count, stderrBytes: count, versions: mapOf(text) },
    ...{ sandboxId: nullable(text), executionId: text },
  },
  {
    fallbackFrom: text,
    warm: fc.constantFrom('fork_server', 'waiting_interpreter'),
    findings: fc.array(
      record({
        ...{
          kind: fc.constantFrom('dangerous_call', 'blocked_import'),
          name: text,
          line: count,
          message: text,
        },
      }),
      { maxLength: 2 },
    ),
    root: fc.oneof(
      record({ kind: fc.constantFrom('host', 'folder'), name: text }),
      record({ kind: fc.constant('image'), name: text, id: text }),
    ),
    ...{ record: record({ seq: count, hash: text }), artifact: text, network, warnings: texts },
    usage: record({}, { cpuSec: number, peakMemoryMb: number, peakProcesses: number }),
    killedBy: fc.constantFrom('timeout', 'memory', 'cpu', 'file_size', 'lifetime'),
    ...{ signal: count, oomKills: count, notCollected: mapOf(text) },
  },
);

const outcomes = ['exited', 'timed_out', 'killed', 'out_of_memory', 'cancelled', 'blocked', 'denied'];
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 20 }),
  fc.string().map((content) => new TextEncoder().encode(content)),
);

const result = record<ExecutionResult>(
  {
    ...{ stdout: text, stderr: text, exitCode: fc.integer(), duration: number, truncated: bool },
    ...{ timedOut: bool, outcome: fc.constantFrom(...outcomes), ok: bool, meta },
  },
  { files: mapOf(bytes) },
);

describe('resultFromJson', () => {
  it('gives back every result that resultToJson wrote, with its files as bytes and no key of a map touched', async () => {
    await fc.assert(
      fc.property(result, (original) => {
        const printed = JSON.stringify(resultToJson(original));
        // Vitest takes a key called `constructor` for what made the object.
        deepStrictEqual(resultFromJson(JSON.parse(printed)), original);
      }),
    );
  });

  it('leaves out members that this version does not know', async () => {
    await fc.assert(
      fc.property(result, (original) => {
        const json = resultToJson(original);
        const later = {
          ...json,
          is_new: 1,
          meta: { ...(json['meta'] as object), is_new: { snake_case: 1 } },
        };
        deepStrictEqual(resultFromJson(later), resultFromJson(json));
      }),
      { numRuns: 20 },
    );
  });

  it.each([
    ['nothing', null, 'This is no result:'],
    ['a member that is missing', { stdout: undefined }, 'This is no result (stdout):'],
    ['an outcome that there is not', { outcome: 'fine' }, 'This is no result (outcome):'],
    [
      'a file that was cut',
      { files: { 'a.txt': { ...fileJson, size: 9 } } },
      'This is no result (files.a.txt):',
    ],
    ['files in a list', { files: [] }, 'This is no result (files):'],
  ])('says what is wrong with %s', (_, changed, message) => {
    const json = changed === null ? null : { ...sampleJson(), ...changed };
    expect(() => resultFromJson(json)).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringContaining(message) }),
    );
  });
});

const fileJson = { encoding: 'utf8', content: 'text', size: 4 };

function sampleJson(): Record<string, unknown> {
  const [sample] = fc.sample(result, { numRuns: 1, seed: 1 });
  return resultToJson(sample as ExecutionResult);
}
