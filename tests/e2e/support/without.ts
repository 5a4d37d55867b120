/**
 * Surroundings in which one piece is missing, for one command and what it starts: a mount namespace, a chroot, a user
 * namespace or an address. Nobody else on the machine notices, and nothing is to be put back.
 */
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, realpathSync, renameSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server } from 'node:net';
import { delimiter, join } from 'node:path';
import { pipeline } from 'node:stream';
import { REPOSITORY } from './build.ts';
import type { Command, Invocation } from './command.ts';

/** An invocation, and what ends with it. */
export interface Surroundings extends Invocation {
  readonly dispose?: () => Promise<void>;
}

const PRIVATE_MOUNTS = ['unshare', '--mount', '--propagation', 'private'];

/** Hides a program wherever it is looked for. */
export function withoutProgram(name: string): Invocation {
  return covered(name, '/dev/null');
}

/** Puts a script in the place of a program. */
export function withProgram(command: Command, name: string, script: string): Invocation {
  const file = command.file(`instead-of-${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return covered(name, file);
}

function covered(name: string, by: string): Invocation {
  const script =
    'by=$1 paths=$2; shift 2; for path in $paths; do mount --bind "$by" "$path" || exit 99; done; exec "$@"';
  return { wrapper: [...PRIVATE_MOUNTS, 'sh', '-c', script, 'sh', by, placesOf(name).join(' ')] };
}

const SYSTEM_FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

function placesOf(name: string): string[] {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_FOLDERS];
  const found = folders.map((folder) => join(folder, name)).filter((path) => existsSync(path));
  if (found.length === 0) throw new Error(`There is no ${name} to take away.`);
  return [...new Set(found.map((path) => realpathSync(path)))];
}

/** A chroot, which shows everything as it is: whoever is in one cannot make a user namespace (user_namespaces(7)). */
export const IN_A_CHROOT: Invocation = {
  wrapper: [...PRIVATE_MOUNTS, 'sh', '-c', 'mount --rbind / /mnt && exec chroot /mnt "$@"', 'sh'],
};

/** Root of a user namespace in which there is nobody else, as `unshare -r` makes it. */
export const ROOT_OF_A_USER_NAMESPACE: Invocation = { wrapper: ['unshare', '--user', '--map-root-user'] };

/** An ordinary user without an account, who gets the folders of the command, in the given groups. */
export function asOrdinaryUser(command: Command, groups: readonly number[] = []): Invocation {
  return { wrapper: [...PRIVATE_MOUNTS, ...asUser(command, groups)] };
}

/** The same in a chroot. */
export function asOrdinaryUserInAChroot(command: Command): Invocation {
  return { wrapper: [...(IN_A_CHROOT.wrapper ?? []), ...asUser(command)] };
}

/** The same where the number of user namespaces is limited to 0: in a user namespace that has everybody, and that limit. */
export function asOrdinaryUserWhoMayMakeNoMore(command: Command): Invocation {
  const limit = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"';
  // Whoever has been mapped becomes root with the program that is started next.
  const inside = 'read -r _ <&"$gate"; exec {gate}>&- && exec sh -c "$limit" sh "$@"';
  const outside = `
path=$(mktemp -u) && mkfifo "$path" && exec {gate}<>"$path" && rm "$path" && export gate limit='${limit}'
unshare --user bash -c '${inside}' bash "$@" &
until [ "$(readlink "/proc/$!/ns/user")" != "$(readlink /proc/self/ns/user)" ]; do :; done
echo '0 0 4294967295' >"/proc/$!/uid_map" && echo '0 0 4294967295' >"/proc/$!/gid_map"
echo go >&"$gate"
wait "$!"`;
  return { wrapper: ['bash', '-c', outside, 'bash', ...PRIVATE_MOUNTS, ...asUser(command)] };
}

const ORDINARY_ID = 54_321;

/** The repository may be where only root can go: it is mounted where the user can. */
function asUser(command: Command, groups: readonly number[] = []): string[] {
  const root = join(command.folder, '..');
  const copy = join(root, 'repository');
  mkdirSync(copy);
  for (const name of ['.', ...readdirSync(root)]) chownSync(join(root, name), ORDINARY_ID, ORDINARY_ID);
  const script = `copy=$1 groups=$2 node=$3; shift 4
mount --rbind "${REPOSITORY}" "$copy" || exit 99
exec setpriv --reuid ${ORDINARY_ID} --regid ${ORDINARY_ID} $groups --inh-caps=-all "$node" "$copy/dist/cli/main.js" "$@"`;
  const option = groups.length === 0 ? '--clear-groups' : `--groups=${groups.join(',')}`;
  return ['sh', '-c', script, 'sh', copy, option];
}

/** A kind of processor that there is no seccomp filter for. */
export const ON_ANOTHER_PROCESSOR: Invocation = {
  env: {
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent("Object.defineProperty(process,'arch',{value:'riscv64'})")}`,
  },
};

/** Every hierarchy of cgroups read-only, as in a container. */
export const WITH_READ_ONLY_CGROUPS: Invocation = {
  wrapper: [
    ...[...PRIVATE_MOUNTS, 'sh', '-c'],
    `for mount in $(awk '$3 ~ /^cgroup/ { print $2 }' /proc/mounts); do
  mount -o remount,bind,ro "$mount" || exit 99
done; exec "$@"`,
    'sh',
  ],
};

/** A socket that nobody listens at any more. */
export async function abandonedSocket(command: Command): Promise<Surroundings> {
  const path = join(command.folder, 'abandoned.sock');
  const server = createServer();
  await listen(server, path);
  // Closing removes the name that it was given.
  renameSync(path, `${path}.left`);
  await close(server);
  return { env: { DOCKER_HOST: `unix://${path}.left` } };
}

/** An engine that accepts every connection and never says a word. */
export async function muteEngine(command: Command): Promise<Surroundings> {
  const path = join(command.folder, 'mute.sock');
  const server = createServer((socket) => socket.resume());
  await listen(server, path);
  return { env: { DOCKER_HOST: `unix://${path}` }, dispose: () => close(server) };
}

/** An engine that answers everything with an error. */
export async function failingEngine(command: Command): Promise<Surroundings> {
  const path = join(command.folder, 'failing.sock');
  const server = createHttpServer((_, response) =>
    response.writeHead(500).end('{"message": "out of order"}'),
  );
  await listen(server, path);
  return { env: { DOCKER_HOST: `unix://${path}` }, dispose: () => close(server) };
}

/** The engine of this machine, and the first line of each request that it is sent. */
export async function watchedEngine(
  command: Command,
): Promise<Surroundings & { readonly asked: () => readonly string[] }> {
  const path = join(command.folder, 'watched.sock');
  const heard: string[] = [];
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const engine = connect({ path: '/var/run/docker.sock', allowHalfOpen: true });
    client.once('data', (chunk) => heard.push(chunk.toString('latin1').split('\r\n')[0] ?? ''));
    // One that breaks off breaks the other off.
    pipeline(client, engine, () => {});
    pipeline(engine, client, () => {});
  });
  await listen(server, path);
  return { env: { DOCKER_HOST: `unix://${path}` }, asked: () => heard, dispose: () => close(server) };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
