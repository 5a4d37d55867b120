import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { json } from 'node:stream/consumers';

/** What a container of the tests is started with, besides all that a sandbox has. */
export interface ContainerOptions {
  readonly image: string;
  readonly command: readonly string[];
  /** As in `SecurityOpt`: a profile as JSON, or "unconfined". */
  readonly seccomp: string;
  /** Root with capabilities, for calls that fail with EPERM for everybody else. */
  readonly privileged?: boolean;
  /** Read-only binds: host path and path inside. */
  readonly binds?: readonly (readonly [source: string, target: string])[];
  readonly environment?: readonly string[];
}

export interface Outcome {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

const socketPath = (process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock').replace(/^unix:\/\//, '');

/** Why containers of this image cannot be started here; undefined where they can. */
export async function engineProblem(image: string): Promise<string | undefined> {
  try {
    await ask('GET', `/images/${encodeURIComponent(image)}/json`);
    return undefined;
  } catch (error) {
    return error instanceof EngineError ? `there is no image ${image}` : `no engine answers at ${socketPath}`;
  }
}

/** Runs a command in a container as a sandbox would have it, and leaves no container behind. */
export async function runContainer(options: ContainerOptions): Promise<Outcome> {
  const { Id: id } = (await ask('POST', '/containers/create', specification(options))) as { Id: string };
  try {
    const output = collect(await attach(id));
    const gone = ask('POST', `/containers/${id}/wait?condition=removed`);
    gone.catch(() => undefined); // It is awaited below, unless the start fails first.
    await ask('POST', `/containers/${id}/start`);
    const { StatusCode: exit } = (await gone) as { StatusCode: number };
    return { exit, ...(await output) };
  } catch (error) {
    await ask('DELETE', `/containers/${id}?force=1`).catch(() => undefined); // The engine may have done it.
    throw error;
  }
}

/** Not all: an engine that lacks one of them itself would refuse to start the container. */
const CAPABILITIES = [
  ...['DAC_READ_SEARCH', 'NET_RAW', 'SYSLOG', 'SYS_ADMIN', 'SYS_BOOT', 'SYS_CHROOT', 'SYS_MODULE'],
  ...['SYS_PACCT', 'SYS_PTRACE', 'SYS_TTY_CONFIG'],
];

function specification({
  image,
  command,
  seccomp,
  privileged = false,
  binds = [],
  environment,
}: ContainerOptions) {
  return {
    Image: image,
    Cmd: command,
    Entrypoint: [],
    Env: environment ?? [],
    User: privileged ? '0:0' : '65534:65534',
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: {
      AutoRemove: true,
      Init: true,
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      ...(privileged ? { CapAdd: CAPABILITIES } : { CapDrop: ['ALL'] }),
      SecurityOpt: ['no-new-privileges', `seccomp=${seccomp}`],
      Tmpfs: { '/tmp': 'rw,nosuid,nodev,mode=1777,size=64m' },
      Binds: binds.map(([source, target]) => `${source}:${target}:ro`),
      LogConfig: { Type: 'none' },
      // Docker writes ::1 for localhost into /etc/hosts, and without this gives lo no such address.
      ...(existsSync('/proc/net/if_inet6') ? { Sysctls: { 'net.ipv6.conf.all.disable_ipv6': '0' } } : {}),
    },
  };
}

class EngineError extends Error {}

async function ask(method: string, path: string, body?: unknown): Promise<unknown> {
  const call = request({ socketPath, method, path, headers: { 'Content-Type': 'application/json' } });
  call.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  if (response.statusCode === 204) return response.resume();
  const answer = await json(response);
  if ((response.statusCode ?? 0) < 300) return answer;
  throw new EngineError(`${method} ${path}: ${response.statusCode} ${JSON.stringify(answer)}`);
}

async function attach(id: string): Promise<Duplex> {
  const call = request({
    socketPath,
    method: 'POST',
    path: `/containers/${id}/attach?stream=1&stdout=1&stderr=1`,
    headers: { Connection: 'Upgrade', Upgrade: 'tcp' },
  });
  call.end();
  const [, stream, head] = (await once(call, 'upgrade')) as [IncomingMessage, Duplex, Buffer];
  stream.unshift(head);
  return stream;
}

/** Each frame has a header: the stream's number, three zeros, and the length as a big-endian number. */
async function collect(stream: Duplex): Promise<{ stdout: string; stderr: string }> {
  const bytes = Buffer.concat(await stream.toArray());
  const parts: Record<number, Buffer[]> = { 1: [], 2: [] };
  for (let start = 0; start < bytes.length; ) {
    const end = start + 8 + bytes.readUInt32BE(start + 4);
    parts[bytes.readUInt8(start)]?.push(bytes.subarray(start + 8, end));
    start = end;
  }
  const text = (number: number): string => Buffer.concat(parts[number] ?? []).toString();
  return { stdout: text(1), stderr: text(2) };
}
