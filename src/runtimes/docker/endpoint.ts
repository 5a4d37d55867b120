/** Where an engine listens: as Docker's own command line finds it, and where the usual engines put their sockets. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { SandboxError } from '../../errors.ts';

/** An address that the Engine API is spoken at. */
export type Endpoint = {
  /** As people write it: `unix:///var/run/docker.sock`. */
  readonly url: string;
  /** Who named it, for messages. */
  readonly origin: string;
} & (
  | { readonly socketPath: string }
  | { readonly host: string; readonly port: number; readonly tls?: TlsFiles }
);

/** The certificates of an engine that is reached by TLS, as PEM text. */
export interface TlsFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The engines to try, best first: the one that `DOCKER_HOST` names and no other; else the one of the docker
 * context in use; else every usual socket that exists. Throws `CONFIG_INVALID` for an address of another kind.
 */
export function findEndpoints(environment: Environment = process.env, home: string = homedir()): Endpoint[] {
  const named = environment['DOCKER_HOST'];
  if (named) return [parseEndpoint(named, 'DOCKER_HOST', certificates(environment, home))];
  const context = contextEndpoint(environment, home);
  if (context !== undefined) return [context];
  return usualSockets(environment, home)
    .filter((path) => existsSync(path))
    .map((socketPath) => ({ socketPath, url: `unix://${socketPath}`, origin: 'a usual place' }));
}

/** The sockets of Docker, rootless Docker, Desktop, Colima, OrbStack, Rancher Desktop and Podman. */
export function usualSockets(environment: Environment, home: string): string[] {
  const runtimeFolder = environment['XDG_RUNTIME_DIR'];
  const perUser = runtimeFolder === undefined ? [] : [runtimeFolder];
  return [
    '/var/run/docker.sock',
    ...perUser.map((folder) => join(folder, 'docker.sock')),
    join(home, '.docker/run/docker.sock'),
    join(home, '.docker/desktop/docker.sock'),
    join(home, '.colima/default/docker.sock'),
    join(home, '.orbstack/run/docker.sock'),
    join(home, '.rd/docker.sock'),
    ...perUser.map((folder) => join(folder, 'podman/podman.sock')),
    '/run/podman/podman.sock',
  ];
}

/** An address as `DOCKER_HOST` and docker contexts write it. Throws `CONFIG_INVALID`. Pure. */
export function parseEndpoint(url: string, origin: string, tls?: TlsFiles): Endpoint {
  const socketPath = /^unix:\/\/(\/.+)$/.exec(url)?.[1];
  if (socketPath !== undefined) return { url, origin, socketPath };
  const [, host, port] = /^(?:tcp|https?):\/\/(\[[0-9a-fA-F:]+\]|[^/:@]+):(\d{1,5})\/?$/.exec(url) ?? [];
  if (host !== undefined && port !== undefined && Number(port) > 0 && Number(port) < 65536) {
    const secure = tls ?? (url.startsWith('https:') ? {} : undefined);
    const bare = host.replace(/^\[|\]$/g, '');
    return { url, origin, host: bare, port: Number(port), ...(secure === undefined ? {} : { tls: secure }) };
  }
  throw new SandboxError(
    'CONFIG_INVALID',
    `${JSON.stringify(url)}, from ${origin}, is no address of an engine.`,
    {
      hint: 'Use unix:///path/to/docker.sock or tcp://host:port. For ssh, forward the socket first: ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock HOST',
      details: { url, origin },
    },
  );
}

function certificates(environment: Environment, home: string): TlsFiles | undefined {
  if (!environment['DOCKER_TLS_VERIFY'] && !environment['DOCKER_CERT_PATH']) return undefined;
  return readCertificates(environment['DOCKER_CERT_PATH'] || join(home, '.docker'));
}

function readCertificates(folder: string): TlsFiles {
  const [ca, cert, key] = ['ca.pem', 'cert.pem', 'key.pem'].map((name) => readIfThere(join(folder, name)));
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

/** The engine of the docker context in use; undefined for the default one, which means the usual places. */
function contextEndpoint(environment: Environment, home: string): Endpoint | undefined {
  const folder = environment['DOCKER_CONFIG'] || join(home, '.docker');
  const name = environment['DOCKER_CONTEXT'] || currentContext(join(folder, 'config.json'));
  if (name === undefined || name === 'default') return undefined;
  const origin = `the docker context ${JSON.stringify(name)}`;
  const id = createHash('sha256').update(name).digest('hex');
  const text = readIfThere(join(folder, 'contexts/meta', id, 'meta.json'));
  const url = text === undefined ? undefined : hostOfContext(text);
  if (url === undefined) {
    throw new SandboxError(
      'CONFIG_INVALID',
      `${origin}, which is in use, does not exist or names no engine.`,
      {
        hint: 'Run: docker context ls, and docker context use NAME.',
        details: { context: name },
      },
    );
  }
  const tlsFolder = join(folder, 'contexts/tls', id, 'docker');
  return parseEndpoint(url, origin, existsSync(tlsFolder) ? readCertificates(tlsFolder) : undefined);
}

function currentContext(file: string): string | undefined {
  const settings = parse(readIfThere(file)) as { currentContext?: unknown } | undefined;
  return typeof settings?.currentContext === 'string' ? settings.currentContext : undefined;
}

function hostOfContext(text: string): string | undefined {
  const meta = parse(text) as { Endpoints?: { docker?: { Host?: unknown } } } | undefined;
  const host = meta?.Endpoints?.docker?.Host;
  return typeof host === 'string' ? host : undefined;
}

/** Docker's own files; one that is damaged is as good as absent to it too. */
function parse(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return undefined;
    throw error;
  }
}
