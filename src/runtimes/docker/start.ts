/** Makes what a sandbox consists of at the engine: its volumes, the keeper, and a container for each program. */
import { SandboxError } from '../../errors.ts';
import type { Capabilities, ProgramLimits, RelayWish, SandboxSpec } from '../runtime.ts';
import { type Connection, relayFor } from './connect.ts';
import { type ContainerSpec, containerBody, tightened, volumeOptions } from './container.ts';
import { removeVolume } from './containers.ts';
import type { Image, ImageContent } from './image.ts';
import { KEEPER_SCRIPT, Keeper } from './keeper.ts';
import { labelsFor, nameFor } from './ownership.ts';
import { containerFailed, ProgramContainer } from './program.ts';

export interface DockerParts {
  readonly connection: Connection;
  readonly capabilities: Capabilities;
  readonly spec: SandboxSpec;
  readonly image: Image;
  readonly content: ImageContent;
  /** The operator's profile, where it takes the place of ours. */
  readonly seccompProfile?: string;
  /** The same for every container of the sandbox, but for its labels and volumes. */
  readonly container: Omit<ContainerSpec, 'labels' | 'volumes'>;
}

export type Volumes = NonNullable<ContainerSpec['volumes']>;

/** What one program gets that the others need not get. */
export interface ProgramWish {
  readonly limits?: ProgramLimits | undefined;
  /** The container whose network it shares. */
  readonly joins?: string;
  /** What stands in its own network as the way out. */
  readonly relay?: RelayWish | undefined;
  /** Its network is closed, whatever the sandbox's is. */
  readonly alone?: boolean;
  /** Its first process is ours. */
  readonly init?: Uint8Array;
}

/** The container of a program, with its relay in place. Throws `SANDBOX_FAILED`; nothing is left then. */
export async function startProgram(
  parts: DockerParts,
  volumes: Volumes | undefined,
  number: number,
  { limits, joins, relay, alone = false, init }: ProgramWish,
): Promise<ProgramContainer> {
  const name = nameFor(parts.spec.id, `p${number}`);
  const policy = tightened(parts.spec.policy, limits);
  const program = relay && relayProgramIn(parts);
  const body = containerBody({
    ...parts.container,
    policy: alone ? { ...policy, network: 'none' } : policy,
    ...(volumes === undefined ? {} : { volumes }),
    ...(joins === undefined ? {} : { joins }),
    ...(program === undefined ? {} : { relayBytes: program.byteLength }),
    ...(init === undefined ? {} : { initBytes: init.byteLength }),
    labels: labelsFor(name),
  });
  const container = await ProgramContainer.start(parts.connection, name, body);
  if (relay === undefined || program === undefined) return container;
  try {
    await container.placeRelay(program, relay);
    return container;
  } catch (error) {
    await container.remove();
    throw error;
  }
}

/** What holds the volumes, with the relay of the network that programs share. Throws `SANDBOX_FAILED`; nothing is left then. */
export async function startKeeper(parts: DockerParts, volumes: Volumes): Promise<Keeper> {
  const { spec, connection } = parts;
  const name = nameFor(spec.id, 'k');
  const relay = sharesNetworks(parts) ? spec.relay : undefined;
  const program = relay && relayProgramIn(parts);
  const body = containerBody(
    {
      ...parts.container,
      volumes,
      ...(program === undefined ? {} : { relayBytes: program.byteLength }),
      labels: labelsFor(name),
    },
    { script: KEEPER_SCRIPT },
  );
  const keeper = await Keeper.start(connection.engine, name, body);
  if (relay === undefined || program === undefined) return keeper;
  try {
    await keeper.placeRelay(program, relay);
    return keeper;
  } catch (error) {
    await keeper.end();
    throw error;
  }
}

/** A kernel of its own has a network of its own, which no other container can join. */
export function sharesNetworks({ connection }: DockerParts): boolean {
  return !connection.ownKernel;
}

function relayProgramIn({ connection }: DockerParts): Uint8Array {
  const program = relayFor(connection);
  if (program !== undefined) return program;
  throw new SandboxError(
    'POLICY_NOT_ENFORCEABLE',
    `There is no relay for ${connection.info.Architecture}, which this ${connection.name} runs on.`,
    { hint: 'Use an engine on x86_64 or aarch64.' },
  );
}

/** Two file systems in memory, each as large as its share. */
export async function makeVolumes({ spec, container, connection }: DockerParts): Promise<Volumes> {
  const { engine } = connection;
  const volumes = { workspace: nameFor(spec.id, 'w'), tmp: nameFor(spec.id, 't') };
  const made: string[] = [];
  try {
    for (const [place, name] of Object.entries(volumes) as ['workspace' | 'tmp', string][]) {
      const o = volumeOptions(place, container, connection.mapsUsers);
      await engine.call('POST', '/volumes/create', {
        body: {
          Name: name,
          Driver: 'local',
          DriverOpts: { type: 'tmpfs', device: 'tmpfs', o },
          Labels: labelsFor(name),
        },
      });
      made.push(name);
    }
    return volumes;
  } catch (error) {
    for (const name of made) await removeVolume(engine, name).catch(() => {});
    throw containerFailed(error);
  }
}
