/** The security options of every container: ours, and what the operator adds. */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SandboxError } from '../../errors.ts';
import type { Policy } from '../../policy/policy.ts';
import { cacheFolder } from '../host/cache.ts';
import { asSentence } from '../sentence.ts';
import { type Connection, processorOf } from './connect.ts';
import { dockerSeccompProfile, profileForOwnKernel } from './seccomp/profile.ts';
import type { DockerSettings } from './settings.ts';

/** What goes into `HostConfig.SecurityOpt`. Throws `CONFIG_INVALID` for a seccomp profile that is none. */
export async function securityOptions(
  connection: Pick<Connection, 'info' | 'isPodman' | 'name' | 'ownKernel'>,
  { seccompProfile, securityOpt }: DockerSettings,
): Promise<string[]> {
  const profile = seccompProfile === undefined ? ownProfile(connection) : await readProfile(seccompProfile);
  const seccomp = connection.isPodman ? await keepInFile(profile) : profile;
  const given = securityOpt.filter((option) => !/^no-new-privileges/.test(option));
  return ['no-new-privileges', `seccomp=${seccomp}`, ...given];
}

/** The options that an engine says it holds a container by, with the profile's name in place of its text. Pure. */
export function describeSecurity(held: readonly string[], seccompProfile: string | undefined): string[] {
  return held.map((option) =>
    option.startsWith('seccomp=') ? `seccomp=${seccompProfile ?? 'glovebox'}` : option,
  );
}

/** By the engine's architecture, which need not be that of this machine. */
function ownProfile({ info, name, ownKernel }: Pick<Connection, 'info' | 'name' | 'ownKernel'>): string {
  const processor = processorOf(info);
  if (processor !== undefined) {
    const profile = dockerSeccompProfile(processor);
    return JSON.stringify(ownKernel ? profileForOwnKernel(profile) : profile);
  }
  throw new SandboxError(
    'POLICY_NOT_ENFORCEABLE',
    `There is no seccomp profile for ${info.Architecture}, which this ${name} runs on.`,
    { hint: 'Use an engine on x86_64 or aarch64, or name a profile with DOCKER_SECCOMP_PROFILE.' },
  );
}

async function readProfile(path: string): Promise<string> {
  try {
    const profile: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (typeof profile === 'object' && profile !== null && 'defaultAction' in profile)
      return JSON.stringify(profile);
    throw new Error('it has no "defaultAction"');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new SandboxError(
      'CONFIG_INVALID',
      asSentence(
        code === 'ENOENT'
          ? `${path} (DOCKER_SECCOMP_PROFILE) does not exist`
          : `${path} (DOCKER_SECCOMP_PROFILE) is no seccomp profile: ${message}`,
      ),
      {
        hint: "Use Docker's JSON format, or unset DOCKER_SECCOMP_PROFILE for the profile of Glovebox.",
        cause: error,
      },
    );
  }
}

/** Podman takes the path of a file on its own machine. A profile never changes under its name. */
async function keepInFile(profile: string): Promise<string> {
  const hash = createHash('sha256').update(profile).digest('hex').slice(0, 32);
  const folder = cacheFolder('seccomp');
  const file = join(folder, `${hash}.json`);
  if ((await readFile(file, 'utf8').catch(() => undefined)) === profile) return file;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}`;
  await writeFile(temporary, profile, { flag: 'wx', mode: 0o600 });
  await rename(temporary, file);
  return file;
}

/**
 * Kernel settings of the container's own network namespace. An engine switches IPv6 off where there is no network,
 * and yet calls `::1` localhost.
 */
export function sysctls(
  { ownKernel, engine }: Pick<Connection, 'ownKernel' | 'engine'>,
  { network }: Policy,
): Readonly<Record<string, string>> {
  // On another machine than the engine's, or without IPv6, nobody knows whether it could be set.
  const isHere = 'socketPath' in engine.endpoint && existsSync('/proc/sys/net/ipv6');
  const known = network !== 'open' && !ownKernel && isHere;
  return known ? { 'net.ipv6.conf.all.disable_ipv6': '0' } : {};
}
