import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aboutEngine, type Connection, capabilitiesOf, connect } from './connect.ts';

const INFO = {
  ID: 'id',
  OSType: 'linux',
  KernelVersion: '6.1',
  NCPU: 2,
  CgroupVersion: '2',
  CgroupDriver: 'systemd',
  MemoryLimit: true,
  SwapLimit: true,
  PidsLimit: true,
  CpuCfsQuota: true,
  Runtimes: { runc: { path: 'runc' }, runsc: { path: '/usr/bin/runsc' } },
  DefaultRuntime: 'runc',
};

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'connect-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** An engine that says of itself what the test wants. */
async function beside<T>(
  answers: { version?: object; info?: object; podman?: object },
  look: (address: string) => Promise<T>,
): Promise<T> {
  const path = join(folder, 'engine.sock');
  const server = createServer((request, response) => {
    const answer = request.url?.endsWith('/version')
      ? { Version: '28.0.1', ApiVersion: '1.48', ...answers.version }
      : request.url?.endsWith('/libpod/info')
        ? { host: answers.podman }
        : { ...INFO, ...answers.info };
    if (request.url?.endsWith('/libpod/info') && answers.podman === undefined) response.statusCode = 403;
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  try {
    return await look(`unix://${path}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('connecting to an engine', () => {
  it('tells what it is and which runtime containers get', async () => {
    const found = await beside({}, (address) => connect(undefined, address));
    expect(found).toMatchObject({
      name: 'Docker',
      version: '28.0.1',
      runtime: 'runc',
      ownKernel: false,
      mapsUsers: false,
    });
    const gvisor = await beside({}, (address) => connect('runsc', address));
    expect(gvisor).toMatchObject({ runtime: 'runsc', ownKernel: true });
    const podman = await beside(
      {
        version: { Components: [{ Name: 'Podman Engine', Version: '5.0' }] },
        podman: { cgroupControllers: ['memory', 'pids', 'cpu'], security: { rootless: false } },
      },
      (address) => connect(undefined, address),
    );
    expect(podman).toMatchObject({ name: 'Podman', isPodman: true, mapsUsers: false, info: INFO });
    const docker = await beside({ info: { SecurityOptions: ['name=rootless'] } }, (address) =>
      connect(undefined, address),
    );
    expect(docker).toMatchObject({ name: 'Docker', mapsUsers: true });
  });

  it('believes Podman what it may use itself, not what the kernel has', async () => {
    const podman = await beside(
      {
        version: { Components: [{ Name: 'Podman Engine', Version: '4.3' }] },
        podman: { cgroupControllers: ['pids'], security: { rootless: true } },
      },
      (address) => connect(undefined, address),
    );
    expect(podman).toMatchObject({
      ...{ isPodman: true, mapsUsers: true },
      info: { MemoryLimit: false, PidsLimit: true, CpuCfsQuota: false },
    });
    const silent = await beside(
      {
        version: { Components: [{ Name: 'Podman Engine', Version: '4.3' }] },
        info: { Rootless: true },
      },
      (address) => connect(undefined, address),
    );
    expect(silent).toMatchObject({
      ...{ isPodman: true, mapsUsers: true },
      info: { MemoryLimit: false, PidsLimit: false, CpuCfsQuota: false },
    });
  });

  it.each([
    ['too old', { version: { ApiVersion: '1.40' } }, undefined, /1\.40.*1\.41 is needed/, /Docker 20\.10/],
    [
      'of another system',
      { info: { OSType: 'windows' } },
      undefined,
      /windows containers/,
      /Linux containers/,
    ],
    [
      'without the wanted runtime',
      { info: { Runtimes: { runc: {} } } },
      'runsc',
      /no runtime called "runsc"/,
      /apt-get install runsc/,
    ],
  ])('refuses one that is %s, with what to do', async (_, answers, runtime, reason, fix) => {
    const refused = await beside(answers, (address) => connect(runtime, address));
    expect(refused).toMatchObject({
      available: false,
      reason: expect.stringMatching(reason),
      fix: expect.stringMatching(fix),
    });
  });

  it('says that nobody is there, and what to do', async () => {
    expect(await connect(undefined, `unix://${folder}/nobody.sock`)).toEqual({
      available: false,
      reason: `Docker daemon not available: there is no unix://${folder}/nobody.sock (the option).`,
      fix: 'Set SANDBOX_TYPE=local or start the Docker daemon (systemctl start docker).',
    });
    expect(await connect(undefined, 'tcp://127.0.0.1:1')).toMatchObject({
      reason: expect.stringContaining('nobody listens at tcp://127.0.0.1:1'),
    });
  });
});

describe('an engine', () => {
  const base = { info: INFO, ownKernel: false };

  it('holds by its cgroups what they can hold, and says so of the rest', () => {
    expect(capabilitiesOf(base, { seccomp: true }).limits).toMatchObject({
      memoryMb: 'cgroup',
      processes: 'cgroup',
      cpu: 'cgroup',
    });
    const rootless = { ...INFO, MemoryLimit: false, PidsLimit: false, CpuCfsQuota: false };
    expect(capabilitiesOf({ ...base, info: rootless }, { seccomp: true }).limits).toMatchObject({
      ...{ memoryMb: 'none', processes: 'none', cpu: 'none' },
    });
  });

  it('with a kernel of its own is stronger, counts processes inside, and has no open network to give', () => {
    expect(capabilitiesOf({ ...base, ownKernel: true }, { seccomp: false })).toMatchObject({
      ...{ isolation: 'kernel', network: ['none', 'allowlist'], seccomp: false },
      limits: { processes: 'rlimit' },
    });
  });

  it('has an allowlist where there is a relay for its processor, whatever the one of this machine', () => {
    const networkOn = (Architecture: string) =>
      capabilitiesOf({ ...base, info: { ...INFO, Architecture } }, { seccomp: true }).network;
    expect(networkOn('x86_64')).toEqual(['none', 'allowlist', 'open']);
    expect(networkOn('aarch64')).toEqual(['none', 'allowlist', 'open']);
    expect(networkOn('s390x')).toEqual(['none', 'open']);
  });

  it('that is old or cannot hold a limit is told to whoever asks the doctor', () => {
    const connection = {
      ...base,
      runtime: 'runc',
      mapsUsers: false,
      engine: { endpoint: { url: 'unix:///x', origin: 'DOCKER_HOST', socketPath: '/x' } },
      components: new Map([['runc', '1.1.5+ds1']]),
    } as unknown as Connection;
    expect(aboutEngine(connection)).toEqual([
      'unix:///x (DOCKER_HOST), cgroups of version 2 by systemd.',
      expect.stringMatching(/^runc 1\.1\.5\+ds1 is older than 1\.2\.8/),
    ]);
    const current = {
      ...connection,
      components: new Map([['runc', '1.3.3']]),
      info: { ...INFO, CpuCfsQuota: false },
    };
    expect(aboutEngine(current).slice(1)).toEqual([
      expect.stringMatching(/^The engine cannot hold cpu\. .*Delegate=/),
    ]);
  });
});
