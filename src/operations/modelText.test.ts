import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SandboxError } from '../errors.ts';
import type { ExecutionMeta, ExecutionResult, Outcome } from '../result/result.ts';
import { errorForModel, resultForModel } from './modelText.ts';

function result(
  overrides: Partial<Omit<ExecutionResult, 'meta'>> = {},
  meta: Partial<ExecutionMeta> = {},
): ExecutionResult {
  const stdout = overrides.stdout ?? '';
  return {
    stdout,
    stderr: '',
    exitCode: 0,
    duration: 0.1,
    truncated: false,
    timedOut: false,
    outcome: 'exited',
    ok: (overrides.outcome ?? 'exited') === 'exited' && (overrides.exitCode ?? 0) === 0,
    ...overrides,
    meta: {
      runtime: 'local',
      language: 'python',
      enforced: null,
      truncated: false,
      timedOut: false,
      blockedImports: [],
      resourceLimits: {
        memoryMb: 512,
        diskMb: 256,
        processes: 64,
        cpu: null,
        timeoutSec: 30,
        maxOutputKb: 10,
      },
      stdoutBytes: Buffer.byteLength(stdout),
      stderrBytes: 0,
      versions: {},
      sandboxId: null,
      executionId: 'e1',
      ...meta,
    },
  };
}

describe('success', () => {
  it('is the output', () => {
    expect(resultForModel(result({ stdout: 'hi\n' }))).toBe('hi');
    expect(resultForModel(result())).toBe('(no output)');
    expect(resultForModel(result({ stdout: '\n', stderr: '\n' }))).toBe('(nothing but white space)');
  });

  it('shows stderr, short', () => {
    expect(resultForModel(result({ stdout: 'hi\n', stderr: 'careful\n' }))).toBe('hi\n[stderr]\ncareful');
    expect(resultForModel(result({ stderr: 'noise\n'.repeat(10_000) })).length).toBeLessThan(1100);
  });

  it('says how much there was when it was cut', () => {
    const text = resultForModel(result({ stdout: 'a\n... (output truncated)\nb\n' }, { stdoutBytes: 5000 }));
    expect(text).toBe('a\n... (output truncated)\nb\n(stdout had 5000 bytes in all)');
  });

  it('keeps both ends within a limit', () => {
    const text = resultForModel(result({ stdout: `first\n${'x'.repeat(9000)}\nlast\n` }), 100);
    expect(Buffer.byteLength(text)).toBeLessThan(130);
    expect(text).toMatch(/^first\n[\s\S]*output truncated[\s\S]*\nlast$/);
  });
});

describe('failure', () => {
  it('is the end of stderr, then the output so far', () => {
    const stderr = 'Traceback (most recent call last):\n  File "main.py", line 1\nValueError: no\n';
    expect(resultForModel(result({ exitCode: 1, stderr, stdout: 'so far\n' }))).toBe(
      `Error (exit_code=1): ${stderr}[stdout]\nso far`,
    );
  });

  it('keeps whole lines of a long stderr', () => {
    const lines = Array.from({ length: 500 }, (_, i) => `line ${i}`);
    const text = resultForModel(result({ exitCode: 1, stderr: `${lines.join('\n')}\nValueError: no\n` }));
    const [first, ...rest] = text.split('\n');
    expect(first).toBe('Error (exit_code=1): ...');
    expect(rest).toEqual([...lines.slice(-rest.length + 1), 'ValueError: no']);
    expect(text.length).toBeGreaterThan(1900);
    expect(text.length).toBeLessThan(2100);
  });

  it('keeps both ends of a last line that is too long', () => {
    const text = resultForModel(result({ exitCode: 1, stderr: `a\nValueError: ${'🧤'.repeat(5000)} end\n` }));
    expect(text).toMatch(/^Error \(exit_code=1\): ValueError: .* \.\.\. .* end$/);
    expect(text).not.toMatch(/\p{Surrogate}/u);
    expect(text.length).toBeLessThan(2100);
  });

  it('says so when there is no stderr', () => {
    expect(resultForModel(result({ exitCode: 3 }))).toBe(
      'Error (exit_code=3): the program failed and wrote nothing to stderr.',
    );
  });
});

describe('an end that was not the program’s own', () => {
  it('timed out: says the limit and what to do, once', () => {
    const text = resultForModel(
      result(
        {
          outcome: 'timed_out',
          exitCode: -1,
          stdout: 'tick\n',
          stderr: 'note\nThe program timed out after 2 s.',
        },
        {
          resourceLimits: { memoryMb: 1, diskMb: 1, processes: 1, cpu: 1, timeoutSec: 2, maxOutputKb: 1 },
        },
      ),
    );
    expect(text).toMatch(/^Error \(exit_code=-1\): timed out after 2 s\. .*larger timeout\.\n/);
    expect(text.match(/timed out/g)).toHaveLength(1);
    expect(text).toMatch(/\n\[stderr\]\nnote\n\[stdout\]\ntick$/);
  });

  it('out of memory: says the limit and what to do', () => {
    expect(resultForModel(result({ outcome: 'out_of_memory', exitCode: 137 }))).toMatch(
      /^Error \(exit_code=137\): out of memory: .*512 MB.*smaller pieces/,
    );
  });

  it('killed: says the signal, and the limit where one did it', () => {
    expect(resultForModel(result({ outcome: 'killed', exitCode: 139 }, { signal: 11 }))).toMatch(
      /^Error \(exit_code=139\): killed by SIGSEGV \(signal 11\)\. /,
    );
    expect(resultForModel(result({ outcome: 'killed', exitCode: 190 }))).toContain('killed by signal 62.');
    const tooLarge = result({ outcome: 'killed', exitCode: 153 }, { signal: 25, killedBy: 'file_size' });
    expect(resultForModel(tooLarge)).toContain('SIGXFSZ (signal 25): it wrote a file that is too large.');
  });

  it('blocked, denied, cancelled: hands on the reason, or gives one', () => {
    const stderr = 'The modules os, socket are blocked. Use open() for files.';
    expect(resultForModel(result({ outcome: 'blocked', exitCode: 1, stderr }))).toBe(
      `Error (exit_code=1): ${stderr}`,
    );
    const bare = result({ outcome: 'blocked', exitCode: 1 }, { blockedImports: ['os', 'socket'] });
    expect(resultForModel(bare)).toContain('the code uses os, socket');
    expect(resultForModel(result({ outcome: 'denied', exitCode: 1, stderr: 'No.' }))).toBe(
      'Error (exit_code=1): No.',
    );
    expect(resultForModel(result({ outcome: 'denied', exitCode: 1 }))).toContain('denied');
    expect(resultForModel(result({ outcome: 'cancelled', exitCode: 130 }))).toMatch(
      /^Error \(exit_code=130\): cancelled/,
    );
  });
});

it('never throws and is never empty, whatever the result', () => {
  const outcomes: Outcome[] = [
    'exited',
    'timed_out',
    'killed',
    'out_of_memory',
    'cancelled',
    'blocked',
    'denied',
  ];
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\n', 'x'.repeat(3000), 'x\n'.repeat(3000)),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...outcomes),
      text,
      text,
      fc.integer(),
      fc.nat(3000),
      (outcome, stdout, stderr, exitCode, limit) => {
        const given = result({ outcome, stdout, stderr, exitCode });
        expect(resultForModel(given, limit)).not.toBe('');
        if (!given.ok) expect(resultForModel(given)).toMatch(/^Error \(exit_code=-?\d+\): /);
      },
    ),
  );
});

describe('errorForModel', () => {
  it('gives message and hint of our own errors', () => {
    const error = new SandboxError('INPUT_INVALID', 'The timeout is 0.', { hint: 'Give at least 1.' });
    expect(errorForModel(error)).toBe('Error (INPUT_INVALID): The timeout is 0. Give at least 1.');
  });

  it('takes anything else', () => {
    expect(errorForModel(new TypeError('bad'))).toBe('Error: bad');
    expect(errorForModel(new RangeError())).toBe('Error: RangeError');
    expect(errorForModel('text')).toBe('Error: text');
    for (const odd of [undefined, null, '', 5, Symbol('x'), Object.create(null)]) {
      expect(errorForModel(odd)).toBe('Error: something failed without saying what');
    }
  });
});
