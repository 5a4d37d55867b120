import { randomBytes } from 'node:crypto';
import { isSandboxError, SandboxError } from '../../errors.ts';
import type { LanguageName } from '../../languages/language.ts';
import { packageVersion } from '../../version.ts';
import { readCached, writeCached } from '../host/cache.ts';
import { LOOK, LOOK_POLICY, lookFrom, parseLook } from '../host/look.ts';
import type { Capabilities, Guest, Probe, Runtime, SandboxSpec } from '../runtime.ts';
import { asSentence } from '../sentence.ts';
import {
  aboutEngine,
  type Connection,
  capabilitiesOf,
  connect,
  type Unavailable,
  unavailableError,
  whyNot,
} from './connect.ts';
import { assertFitsProcesses, type SandboxUser } from './container.ts';
import { DockerGuest } from './guest.ts';
import { type Image, type ImageContent, inspectImage } from './image.ts';
import { securityOptions, sysctls } from './security.ts';
import { DEFAULT_DOCKER_SETTINGS, type DockerSettings } from './settings.ts';
import { sweepEngine } from './sweep.ts';

export interface DockerOptions extends Partial<DockerSettings> {
  /** What it is called in results and messages: `docker` unless another runtime is built on it. */
  readonly name?: string;
  /** The engine's address; found as Docker's own command line finds it otherwise. */
  readonly address?: string;
  /** As for bubblewrap: whether a look inside an image that went well earlier may stand for a new one. */
  readonly trustEarlierTrial?: boolean;
}

/** Containers of Docker, Podman or what else speaks the Engine API, each as closed as the engine can close it. */
export function docker(options: DockerOptions = {}): Runtime {
  const { name = 'docker', address, trustEarlierTrial = false, ...given } = options;
  const settings: DockerSettings = { ...DEFAULT_DOCKER_SETTINGS, ...given };
  let connecting: Promise<Connection | Unavailable> | undefined;
  let swept: Promise<unknown> | undefined;
  const looks = new Map<string, Promise<ImageContent>>();

  const reach = (): Promise<Connection | Unavailable> => {
    connecting ??= connect(settings.runtime, address).then((found) => {
      // A daemon may be started while we live.
      if ('reason' in found) connecting = undefined;
      return found;
    });
    return connecting;
  };
  const lookInto = (connection: Connection, image: Image): Promise<ImageContent> => {
    const known = looks.get(image.id);
    if (known) return known;
    const looking = lookInside(connection, image, settings, trustEarlierTrial);
    looks.set(image.id, looking);
    looking.catch(() => looks.delete(image.id));
    return looking;
  };

  /** It answered before and does so no more: the next one who asks looks for it anew. */
  const lost = (error: unknown, { engine }: Connection): Unavailable => {
    connecting = undefined;
    return whyNot(error, engine.endpoint);
  };

  return {
    name,
    async probe(): Promise<Probe> {
      const connection = await reach();
      if ('reason' in connection) return connection;
      let content: ImageContent;
      try {
        content = await lookInto(connection, await inspectImage(connection.engine, settings.image));
      } catch (error) {
        if (!isSandboxError(error)) return lost(error, connection);
        // A setting that makes no sense is not an engine that is missing: no fallback may hide it.
        if (error.code === 'CONFIG_INVALID') throw error;
        return { available: false, reason: asSentence(error.message), fix: error.hint };
      }
      return {
        available: true,
        version: `${connection.name} ${connection.version}, ${connection.runtime}`,
        capabilities: capabilitiesOf(connection, content),
        about: aboutEngine(connection),
      };
    },
    async create(spec): Promise<Guest> {
      const connection = await reach();
      if ('reason' in connection) throw unavailableError(name, connection);
      // What a crashed process left is not worth failing this run; `glovebox prune` tells what is wrong.
      swept ??= sweepEngine(connection.engine).catch(() => {});
      const image = await inspectImage(connection.engine, imageFor(spec.languages, settings)).catch(
        (error: unknown) => {
          throw isSandboxError(error) ? error : unavailableError(name, lost(error, connection));
        },
      );
      const [content] = await Promise.all([lookInto(connection, image), swept]);
      return createGuest({ connection, spec, image, content, settings });
    },
    async sweep() {
      const connection = await reach();
      return 'reason' in connection ? 0 : sweepEngine(connection.engine);
    },
  };
}

/** A sandbox is made for the first of its languages. */
function imageFor([language]: readonly LanguageName[], { image, images }: DockerSettings): string {
  return (language === undefined ? undefined : images[language]) ?? image;
}

const NOT_LOOKED_YET: ImageContent = { interpreters: new Map(), seccomp: true };

/** Looks inside an image, from a container of it that is held like every other one, and at how that is held. */
export async function lookInside(
  connection: Connection,
  image: Image,
  settings: DockerSettings,
  trustEarlierTrial: boolean,
): Promise<ImageContent> {
  const { info, version, runtime } = connection;
  const key = [packageVersion(), info.ID, info.KernelVersion, version, runtime, image.id, settings, LOOK];
  const earlier = (trustEarlierTrial && (await readCached('images', key))?.[0]) || undefined;
  const known = earlier === undefined ? undefined : parseLook(earlier);
  if (known !== undefined) return known;
  const spec: SandboxSpec = {
    id: `look${randomBytes(6).toString('hex')}`,
    policy: LOOK_POLICY,
    languages: [],
    singleUse: true,
  };
  const guest = await createGuest({
    connection,
    spec,
    image,
    content: NOT_LOOKED_YET,
    settings,
  });
  try {
    const { said, complained, code } = await lookFrom(guest);
    const seen = parseLook(said);
    if (seen === undefined) {
      throw notUsable(image, `a look inside ended with ${code}: ${complained || 'nothing was said'}`);
    }
    assertHeldInside(connection, image, seen.facts);
    await writeCached('images', key, [said]);
    return seen;
  } finally {
    await guest.destroy();
  }
}

/** The engine's word is checked once: by what a program in such a container finds about itself. */
function assertHeldInside(
  { ownKernel, info }: Connection,
  image: Image,
  facts: ReadonlyMap<string, string>,
): void {
  const wrong = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].filter((name) =>
    /[1-9a-f]/.test(facts.get(name) ?? ''),
  );
  // gVisor does not show it in every version; what cannot be shown cannot be looked at.
  if ((facts.get('NoNewPrivs') ?? (ownKernel ? '1' : '0')) !== '1') wrong.push('NoNewPrivs');
  // gVisor's own filter is around its kernel; one in it is the operator's choice.
  if (!ownKernel && facts.get('Seccomp') !== '2') wrong.push('Seccomp');
  if (ownKernel && facts.get('kernel') === info.KernelVersion)
    wrong.push("the kernel, which is the engine's own");
  if (wrong.length > 0) throw notUsable(image, `a trial container was not held: ${wrong.join(', ')}`);
}

function notUsable({ name }: Image, reason: string): SandboxError {
  return new SandboxError('RUNTIME_UNAVAILABLE', `The image ${name} cannot be used: ${reason}`, {
    hint: 'An image needs /bin/sh, env, dd, head and sed, for the architecture of the engine. Run: glovebox images build',
    details: { image: name },
  });
}

async function createGuest(parts: {
  readonly connection: Connection;
  readonly spec: SandboxSpec;
  readonly image: Image;
  readonly content: ImageContent;
  readonly settings: DockerSettings;
}): Promise<Guest> {
  const { connection, spec, image, content, settings } = parts;
  const capabilities: Capabilities = capabilitiesOf(connection, content);
  assertFitsProcesses(spec.policy.limits.processes.value);
  return DockerGuest.create({
    ...{ connection, capabilities, spec, image, content },
    ...(settings.seccompProfile === undefined ? {} : { seccompProfile: settings.seccompProfile }),
    container: {
      image: image.id,
      imageVolumes: image.volumes,
      searchPath: image.searchPath,
      user: chooseUser(connection),
      policy: spec.policy,
      cores: connection.info.NCPU,
      ...(settings.runtime === undefined ? {} : { runtime: settings.runtime }),
      processesBy: capabilities.limits.processes === 'rlimit' ? 'rlimit' : 'cgroup',
      securityOpt: await securityOptions(connection, settings),
      sysctls: sysctls(connection, spec.policy),
      isPodman: connection.isPodman,
    },
  });
}

/** Ids that no account has: 2^24 from here, all of which an engine takes (it stops at 2^31). */
const FIRST_SANDBOX_UID = 0x60000000;

/** Each sandbox has a user id of its own. An engine that maps users has only some 65,000 of them to give. */
function chooseUser({ mapsUsers }: Connection): SandboxUser {
  const id = mapsUsers
    ? 1000 + (randomBytes(2).readUInt16BE() % 64_000)
    : FIRST_SANDBOX_UID + randomBytes(3).readUIntBE(0, 3);
  return { uid: id, gid: id };
}
