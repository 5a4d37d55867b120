import { removeContainer, removeVolume } from './containers.ts';
import type { Engine } from './engine.ts';
import { isLeftOver, OWNER_LABEL } from './ownership.ts';

/** Removes the containers and volumes of processes that are gone; resolves to how many. */
export async function sweepEngine(engine: Engine): Promise<number> {
  const filters = encodeURIComponent(JSON.stringify({ label: [OWNER_LABEL] }));
  const [containers, { Volumes }] = await Promise.all([
    engine.call<{ Id: string; Labels: Record<string, string> }[]>(
      'GET',
      `/containers/json?all=1&filters=${filters}`,
    ),
    engine.call<{ Volumes: { Name: string; Labels: Record<string, string> }[] | null }>(
      'GET',
      `/volumes?filters=${filters}`,
    ),
  ]);
  const oldContainers = containers.filter(({ Labels }) => isLeftOver(Labels));
  const oldVolumes = (Volumes ?? []).filter(({ Labels }) => isLeftOver(Labels));
  for (const { Id } of oldContainers) await removeContainer(engine, Id);
  for (const { Name } of oldVolumes) await removeVolume(engine, Name);
  return oldContainers.length + oldVolumes.length;
}
