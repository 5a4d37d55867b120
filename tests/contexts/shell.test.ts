/** What people know of a shell that stays open. */
import { describe, expect, it } from 'vitest';
import { TARGETS } from '../support/targets.ts';
import { isOfItsOwnKind, type Use, withContext } from './support.ts';

const [target] = TARGETS.filter(isOfItsOwnKind);
if (target === undefined) throw new Error('A plain process works everywhere.');

const shell = <T>(use: (use: Use) => Promise<T>): Promise<T> => withContext(target, 'shell', use);

/** Everything that a shell has, and the question that shows it. */
const STATE = `
cd /tmp; x='a  b'; y=$'line\\nline "quoted" \\\\ é'; list=(1 "2 3"); declare -A map=([k]=v); export seen=1
declare -i number=7; readonly fixed=9; f() { echo "f $x"; }; alias ll=ls; shopt -s nullglob; set -f; umask 077
trap 'echo usr1' USR1; IFS=:; unset HOME`;
const QUESTION = `
echo "$PWD|$x|$y|\${list[1]}|\${map[k]}|$(printenv seen)|$fixed|$number|$(f)|\${IFS}|\${HOME-none}"
alias ll; shopt nullglob; case $- in *f*) echo noglob;; esac; umask; kill -USR1 $$; number=3+4; echo $number`;
const ANSWER = `/tmp|a  b|line
line "quoted" \\ é|2 3|v|1|9|7|f a  b|:|none
alias ll='ls'
nullglob       \ton
noglob
0077
usr1
7
`;

describe('the state', () => {
  it('is there in the next cell', async () => {
    await shell(async ({ run, print }) => {
      await run(STATE);
      expect(await print(QUESTION)).toBe(ANSWER);
    });
  });

  it.each([
    ['exit', 'exit 3', 3],
    ['exit in a function', 'leave() { exit 4; }; leave', 4],
    ['a failure under set -e', 'set -e; false; echo not reached', 1],
    ['a variable that is not there under set -u', 'set -u; echo $nowhere; echo not reached', 127],
    ['an interrupt', 'kill -INT $$; sleep 1', 130],
    ['a stray break', 'break', 0],
  ])('is there behind what ends a shell: %s', async (_, code, exitCode) => {
    await shell(async ({ run, print }) => {
      await run(STATE);
      const outcome = await run(code);
      expect(outcome).toMatchObject({ outcome: 'exited', exitCode, stdout: { text: '' } });
      expect(outcome.ended).toBeUndefined();
      await run('set +eu');
      expect(await print(QUESTION)).toBe(ANSWER);
    });
  });

  it('has its options, of which none ends the context', async () => {
    await shell(async ({ run, print }) => {
      expect((await run('set -e; true')).exitCode).toBe(0);
      expect((await run('false; echo no')).stdout.text).toBe('');
      expect(await print('case $- in *e*) echo still;; esac; set +e')).toBe('still\n');
      const traced = await run('set -x; echo hi');
      expect([traced.stdout.text, traced.stderr.text]).toEqual(['hi\n', '++ echo hi\n']);
      expect((await run('set +x')).stderr.text).toBe('++ set +x\n');
      expect((await run('set -o noclobber -o posix -o pipefail; echo $?')).stdout.text).toBe('0\n');
      expect(await print('echo fine')).toBe('fine\n');
      expect((await run('exit 2')).exitCode).toBe(2);
      expect(await print('echo fine')).toBe('fine\n');
    });
  });
});

describe('a cell', () => {
  it('tells a syntax error from a command that ends with 2', async () => {
    await shell(async ({ run, print }) => {
      const broken = await run('echo first\nif then');
      expect(broken).toMatchObject({
        exitCode: 2,
        stdout: { text: 'first\n' },
        error: { name: 'SyntaxError', value: "syntax error near unexpected token `then'" },
      });
      expect(broken.stderr.text).toContain('line 2: syntax error');
      const two = await run('(exit 2)');
      expect(two.exitCode).toBe(2);
      expect(two.error).toBeUndefined();
      expect(await print('echo fine')).toBe('fine\n');
    });
  });

  it('counts its lines from one', async () => {
    await shell(async ({ run }) => {
      expect((await run('\nno-such-command')).stderr.text).toBe(
        'bash: line 2: no-such-command: command not found\n',
      );
    });
  });

  it('runs at the top of the shell, not in a function, and its programs get no descriptors of ours', async () => {
    await shell(async ({ run, print }) => {
      await run('declare a=1; typeset b=2');
      expect(await print('echo $a$b')).toBe('12\n');
      expect((await run('local c=1')).exitCode).toBe(1);
      const look = 'for d in $(seq 3 1023); do [ -e /proc/self/fd/$d ] && echo $d; done; echo end';
      expect(await print(`bash -c '${look}'`)).toBe('end\n');
    });
  });

  it('leaves jobs behind that do not hold it up', async () => {
    await shell(async ({ run, print }) => {
      const startedAt = performance.now();
      await run('sleep 30 & first=$!');
      expect(performance.now() - startedAt).toBeLessThan(10_000);
      expect(await print('kill $first; wait $first; echo $?')).toBe('143\n');
    });
  });

  it('runs a trap for the end of the shell when it exits', async () => {
    await shell(async ({ run, print }) => {
      expect(await print("trap 'echo bye' EXIT; echo set")).toBe('set\n');
      expect(await run('exit 1')).toMatchObject({ exitCode: 1, stdout: { text: 'bye\n' } });
      expect(await print('echo still')).toBe('still\n');
      expect(await print("( trap 'echo inner' EXIT; echo in )")).toBe('in\ninner\n');
    });
  });

  it('that becomes another program is the end of the context, which says so', async () => {
    await shell(async ({ run }) => {
      const outcome = await run('exec echo instead');
      expect(outcome).toMatchObject({ exitCode: 0, stdout: { text: 'instead\n' } });
      expect(outcome.ended).toBe('Its program ended with 0.');
      await expect(run('echo')).rejects.toMatchObject({ code: 'SANDBOX_CLOSED' });
    });
  });

  it('is read as it is: large, empty, without a line end, with every character but NUL', async () => {
    await shell(async ({ run, print }) => {
      expect(await print('')).toBe('');
      expect(await print(`: '${'é€🧤'.repeat(20_000)}'; echo end`)).toBe('end\n');
      expect(await print("printf %s '\\n \\\\ \t\u0001'")).toBe('\\n \\\\ \t\u0001');
      await expect(run('echo \0')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
      expect(await print('echo still')).toBe('still\n');
    });
  });
});
