import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useCommand } from './support/command.ts';
import { describeWith } from './support/needs.ts';

const glovebox = useCommand();

const sandbox = (...lines: string[]): string =>
  ['security:', '  sandbox:', ...lines.map((line) => `    ${line}`), ''].join('\n');

const userFile = (text: string): string =>
  glovebox.file(join(glovebox.home, 'config/glovebox/config.yaml'), text);
const projectFile = (text: string): string => glovebox.file('glovebox.yaml', text);

describe('config explain', () => {
  it('prints every setting with its value and where it is from, as YAML', async () => {
    const { status, stdout, stderr } = await glovebox.run(['config', 'explain']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('timeout_sec: 30  # default\n');
    expect(stdout).toContain('type: "local"  # default\n');
    expect(stdout).toContain('min_isolation: unset  # default\n');
    for (const line of stdout.trimEnd().split('\n')) expect(line).toMatch(/^[a-z_.]+: .+ {2}# .+$/);
  });

  it.each(['timeout_sec', 'timeoutSec', 'SANDBOX_TIMEOUT_SEC'])(
    'prints one setting, by its name %s',
    async (name) => {
      const { stdout } = await glovebox.run(['config', 'explain', name]);
      expect(stdout).toBe('timeout_sec: 30  # default\n');
    },
  );

  it('names the origin: a user file, a project file, the environment', async () => {
    const user = userFile(sandbox('memory_mb: 100', 'timeout_sec: 20'));
    const project = projectFile(sandbox('max_processes: 10', 'timeout_sec: 10'));
    const { stdout } = await glovebox.run(['config', 'explain'], { env: { SANDBOX_DISK_MB: '33' } });
    expect(stdout).toContain(`memory_mb: 100  # memory_mb in the user file ${user}\n`);
    expect(stdout).toContain(`max_processes: 10  # max_processes in the project file ${project}\n`);
    expect(stdout).toContain(`timeout_sec: 10  # timeout_sec in the project file ${project}\n`);
    expect(stdout).toContain('disk_mb: 33  # environment variable SANDBOX_DISK_MB\n');
  });

  it('shows an amount of memory as it can be written', async () => {
    const byDefault = await glovebox.run(['config', 'explain', 'docker_memory_limit']);
    const bySomebody = await glovebox.run(['config', 'explain', 'DOCKER_MEMORY_LIMIT', '--json'], {
      env: { DOCKER_MEMORY_LIMIT: '1g' },
    });
    expect(byDefault.stdout).toBe('docker_memory_limit: "256m"  # default\n');
    expect(JSON.parse(bySomebody.stdout).settings.docker_memory_limit.value).toBe('1024m');
  });

  it('says the same in JSON', async () => {
    const user = userFile(sandbox('limits:', '  max_memory_mb: 100'));
    const { status, stdout } = await glovebox.run(['config', 'explain', '--json'], {
      env: { SANDBOX_TIMEOUT_SEC: '5' },
    });
    expect(status).toBe(0);
    const { settings, warnings } = JSON.parse(stdout);
    expect(warnings).toEqual([]);
    expect(settings.timeout_sec).toEqual({
      value: 5,
      origin: { kind: 'environment', name: 'SANDBOX_TIMEOUT_SEC' },
    });
    expect(settings.memory_mb).toEqual({
      value: 100,
      origin: { kind: 'user file', path: user, name: 'limits.max_memory_mb' },
    });
    expect(settings.disk_mb).toEqual({ value: 256, origin: { kind: 'default' } });
    expect(settings.min_isolation).toEqual({ value: null, origin: { kind: 'default' } });
  });
});

describe('the settings of a run', () => {
  const TIMEOUT = ['run', '--json', '-c', 'pass'];
  const timeoutOf = (stdout: string): number => JSON.parse(stdout).meta.resource_limits.timeout_sec;

  it('come from the user file, then the environment, then the flags', async () => {
    userFile(sandbox('timeout_sec: 11'));
    const byFile = await glovebox.run(TIMEOUT);
    const byVariable = await glovebox.run(TIMEOUT, { env: { SANDBOX_TIMEOUT_SEC: '12' } });
    const byFlag = await glovebox.run([...TIMEOUT, '--timeout', '13'], {
      env: { SANDBOX_TIMEOUT_SEC: '12' },
    });
    expect([byFile, byVariable, byFlag].map(({ stdout }) => timeoutOf(stdout))).toEqual([11, 12, 13]);
  });

  it('come from the one file of GLOVEBOX_CONFIG instead of both others', async () => {
    userFile(sandbox('timeout_sec: 11', 'memory_mb: 100'));
    projectFile(sandbox('timeout_sec: 10'));
    const named = glovebox.file('elsewhere/settings.yaml', sandbox('timeout_sec: 14'));
    const { stdout } = await glovebox.run(TIMEOUT, { env: { GLOVEBOX_CONFIG: named } });
    expect(JSON.parse(stdout).meta.resource_limits).toMatchObject({ timeout_sec: 14, memory_mb: 512 });
  });

  it('come from the file of --config before the one of GLOVEBOX_CONFIG', async () => {
    const byVariable = glovebox.file('variable.yaml', sandbox('timeout_sec: 14'));
    glovebox.file('flag.yaml', sandbox('timeout_sec: 15'));
    const { stdout } = await glovebox.run([...TIMEOUT, '--config', 'flag.yaml'], {
      env: { GLOVEBOX_CONFIG: byVariable },
    });
    expect(timeoutOf(stdout)).toBe(15);
  });

  it('are tightened by a project file', async () => {
    projectFile(sandbox('timeout_sec: 0.5'));
    const { status, stderr } = await glovebox.run(['run', '-c', 'while True: pass']);
    expect(status).toBe(124);
    expect(stderr).toContain('0.5');
  });

  it('are never loosened by a project file, which is said', async () => {
    userFile(sandbox('timeout_sec: 5', 'block_dangerous_imports: true'));
    projectFile(sandbox('timeout_sec: 600', 'block_dangerous_imports: false'));
    const { status, stderr } = await glovebox.run(['run', '-c', 'import subprocess']);
    expect(status).toBe(126);
    expect(stderr).toMatch(/^glovebox: warning: glovebox\.yaml asks for timeout_sec 600; .*5.*stays/m);
    const { stdout } = await glovebox.run(TIMEOUT);
    expect(timeoutOf(stdout)).toBe(5);
  });

  it.each([
    ...['store_code: never', 'python: ./mine', 'artifacts_dir: /tmp', 'fallback: local'],
    ...['docker_image: theirs', 'docker_security_opt: [apparmor=theirs]', 'gvisor_root: ./theirs'],
  ])('are not taken from a project file for %s, which is refused', async (line) => {
    projectFile(sandbox(line));
    const { status, stdout, stderr } = await glovebox.run(['run', '-c', 'print("ran")']);
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toContain(line.split(':')[0]);
    expect(stderr).toContain('glovebox.yaml');
  });

  it('cut a timeout to the longest that is allowed, and the result says so', async () => {
    const { stdout } = await glovebox.run([...TIMEOUT, '--timeout', '100'], {
      env: { SANDBOX_MAX_TIMEOUT_SEC: '60' },
    });
    const { meta } = JSON.parse(stdout);
    expect(meta.resource_limits.timeout_sec).toBe(60);
    expect(meta.enforced.limits.timeout_sec).toEqual({ value: 60, by: 'timer', default: false });
    expect(meta.warnings.join('\n')).toMatch(/100.*cut.*60/);
  });

  it('tell what was asked for from what is a default', async () => {
    const { stdout } = await glovebox.run([...TIMEOUT, '--memory-mb', '300']);
    const { limits } = JSON.parse(stdout).meta.enforced;
    expect([limits.memory_mb.default, limits.timeout_sec.default]).toEqual([false, true]);
    expect(limits.memory_mb.value).toBe(300);
  });
});

describeWith(['linux'], 'an artifacts folder in a file system that makes no folders', () => {
  it('is warned about, and does not hold up or fail the run', async () => {
    const { status, stdout } = await glovebox.run(['run', '--json', '-c', 'print("fine")'], {
      env: { SANDBOX_STORE_CODE: 'always', SANDBOX_ARTIFACTS_DIR: '/proc/no-such-folder/records' },
      deadlineMs: 10_000,
    });
    const result = JSON.parse(stdout);
    expect({ status, stdout: result.stdout }).toEqual({ status: 0, stdout: 'fine\n' });
    expect(result.meta.warnings.join('\n')).toContain('/proc/no-such-folder/records');
  });
});

describe('doctor', () => {
  it('says of each runtime what it holds, and where the interpreters are', async () => {
    const { status, stdout } = await glovebox.run(['doctor']);
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^local: available \(.+\)\n {2}isolation (namespace|process), [\s\S]*?\n {2}limits: /,
    );
    expect(stdout).toMatch(/^bubblewrap: (available|not available)/m);
    expect(stdout).toMatch(/^python: \/.+ \(3\.\d+\.\d+\)$/m);
    expect(stdout).toMatch(/^javascript: \/.+ \(\d+\.\d+\.\d+\)$/m);
    expect(stdout).toMatch(/^shell: \/.+ \(\d+\.\d+\.\d+.*\)$/m);
  });

  it('says the same in JSON', async () => {
    const { status, stdout } = await glovebox.run(['doctor', '--json']);
    expect(status).toBe(0);
    const { runtimes, languages, warm } = JSON.parse(stdout);
    expect(runtimes.map(({ name }: { name: string }) => name)).toEqual([
      'local',
      'bubblewrap',
      'docker',
      'gvisor',
    ]);
    expect(runtimes[0]).toMatchObject({
      available: true,
      isolation: expect.stringMatching(/^(namespace|process)$/),
      network: expect.any(Array),
      limits: { timeout_sec: 'timer' },
      notes: expect.any(Array),
    });
    expect(warm).toMatchObject({
      ...{ mode: 'auto', min: 1, max: 8, runtime: 'local' },
      languages: ['python', 'javascript', 'shell'].map((language) => ({ language })),
    });
    expect(languages).toContainEqual({
      name: 'python',
      available: true,
      path: expect.stringMatching(/^\//),
      version: expect.stringMatching(/^3\./),
    });
  });

  it('fits 100 columns, says as much as in JSON, and asks the runtimes that the settings configure', async () => {
    const env = { DOCKER_HOST: `unix:///${'folder/'.repeat(12)}no.sock`, DOCKER_RUNTIME: 'runsc' };
    const [text, json] = await Promise.all([
      glovebox.run(['doctor'], { env }),
      glovebox.run(['doctor', '--json'], { env }),
    ]);
    const tooLong = text.stdout.split('\n').filter((line) => line.length > 100 && line.trim().includes(' '));
    expect(tooLong).toEqual([]);
    const words = text.stdout.replace(/\s+/g, ' ');
    const { runtimes, languages } = JSON.parse(json.stdout);
    for (const { name, available, version, reason, fix, notes = [] } of [...runtimes, ...languages]) {
      const told = available ? [version, ...notes] : [`${name}: not available. ${reason} ${fix}`];
      for (const sentence of told) expect(words).toContain(sentence.replace(/\s+/g, ' '));
    }
    for (const name of ['docker', 'gvisor']) {
      const found = runtimes.find((runtime: { name: string }) => runtime.name === name);
      expect(found).toMatchObject({ available: false, reason: expect.stringContaining('Docker daemon') });
    }
  });

  it('names the fix where an interpreter is missing', async () => {
    const { status, stdout } = await glovebox.run(['doctor'], {
      env: { SANDBOX_PYTHON: '/no/such/python3' },
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^python: not available\. [\s\S]*\/no\/such\/python3[\s\S]*\n {2}[\s\S]*SANDBOX_PYTHON/m,
    );
  });
});

describe('prune', () => {
  it('says that nothing was left where that is so', async () => {
    const { status, stdout } = await glovebox.run(['prune']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^(Nothing was left behind|Removed \d+ left behind by crashed runs)\.\n$/);
  });

  it('counts in JSON', async () => {
    const { status, stdout } = await glovebox.run(['prune', '--json']);
    expect(status).toBe(0);
    const { removed, total } = JSON.parse(stdout);
    expect(Object.keys(removed)).toEqual(['local', 'bubblewrap', 'docker', 'gvisor', 'background']);
    expect(total).toEqual(expect.any(Number));
  });
});
