import { describe, expect, it } from 'vitest';
import { useCommand } from './support/command.ts';

const glovebox = useCommand();

/** No engine answers there, whatever this machine has. */
const ABSENT = { SANDBOX_TYPE: 'docker', DOCKER_HOST: 'unix:///no/such.sock' };

describe('without the engine that is wanted', () => {
  it('nothing runs, which is said within a second', async () => {
    const { status, stdout, stderr, seconds } = await glovebox.run(['run', '-c', 'print("ran")'], {
      env: ABSENT,
    });
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toContain('Docker daemon not available');
    expect(stderr).toContain('Set SANDBOX_TYPE=local or start the Docker daemon');
    expect(seconds).toBeLessThan(1);
  });

  it('the configured fallback runs with its own defaults, and the result says so', async () => {
    const { status, stdout } = await glovebox.run(['run', '--json', '-c', 'print("ran")'], {
      env: { ...ABSENT, SANDBOX_FALLBACK: 'local', DOCKER_MEMORY_LIMIT: '64m' },
    });
    const result = JSON.parse(stdout);
    expect({ status, stdout: result.stdout }).toEqual({ status: 0, stdout: 'ran\n' });
    expect(result.meta).toMatchObject({
      runtime: 'local',
      fallback_from: 'docker',
      resource_limits: { memory_mb: 512, cpu: null },
    });
    expect(result.meta.warnings.join('\n')).toMatch(
      /Docker daemon not available.*The configured fallback "local" was used\./,
    );
  });

  it('what was asked for holds for the fallback too', async () => {
    const { stdout } = await glovebox.run(['run', '--json', '--memory-mb', '100', '-c', 'pass'], {
      env: { ...ABSENT, SANDBOX_FALLBACK: 'local' },
    });
    expect(JSON.parse(stdout).meta.resource_limits.memory_mb).toBe(100);
  });

  it('a fallback below the minimum isolation does not run, and both reasons are told', async () => {
    const { status, stdout, stderr } = await glovebox.run(['run', '-c', 'print("ran")'], {
      env: { ...ABSENT, SANDBOX_FALLBACK: 'local', SANDBOX_MIN_ISOLATION: 'container' },
    });
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toMatch(/Docker daemon not available.*isolation of at least "container"/);
    expect(stderr).toMatch(/\n {2}.*start the Docker daemon.*/);
  });

  it('a fallback that is not there either is refused, and both reasons are told', async () => {
    const { status, stdout, stderr } = await glovebox.run(['run', '-c', 'print("ran")'], {
      env: { ...ABSENT, SANDBOX_FALLBACK: 'e2b' },
    });
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toMatch(/Docker daemon not available.*does not have the runtime "e2b"/);
  });
});

it('a result without a fallback names none', async () => {
  const { stdout } = await glovebox.run(['run', '--json', '-c', 'pass'], {
    env: { SANDBOX_FALLBACK: 'local' },
  });
  expect(JSON.parse(stdout).meta).not.toHaveProperty('fallback_from');
});
