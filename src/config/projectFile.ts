import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { fileLayer } from './fileLayer.ts';
import type { Layer } from './layers.ts';
import { PROJECT_FILE } from './origin.ts';
import { printable } from './quote.ts';
import type { TextFile } from './readTextFile.ts';
import { type Trust, TrustStore } from './trust.ts';

/**
 * What a project file sets that was read in this folder: it only tightens, unless a person trusts exactly these bytes at
 * this place. Whatever keeps us from knowing that means that nobody does.
 */
export async function projectFileLayer(
  { text, bytes }: TextFile,
  folder: string,
  stateFolder: string | undefined,
): Promise<Layer> {
  const { trust, realFolder } = await trustIn(folder, bytes, stateFolder);
  if (trust.is === 'trusted') return trustedLayer(text, realFolder);
  const layer = fileLayer(text, { kind: 'project file', path: join(folder, PROJECT_FILE), folder });
  const warning = warningOf(trust);
  return warning === undefined ? layer : { ...layer, warning };
}

/** What a project file sets where it counts as the user's own. Relative paths start at the folder that was trusted. */
export function trustedLayer(text: string, realFolder: string): Layer {
  const path = join(realFolder, PROJECT_FILE);
  return fileLayer(text, { kind: 'trusted project file', path, folder: realFolder });
}

/** Pins are for places, not for one of the links that lead there. */
async function trustIn(
  folder: string,
  bytes: Uint8Array,
  stateFolder: string | undefined,
): Promise<{ readonly trust: Trust; readonly realFolder: string }> {
  if (stateFolder === undefined) return { trust: { is: 'unknown' }, realFolder: folder };
  try {
    const realFolder = await realpath(folder);
    return { trust: new TrustStore(stateFolder).trustOf(join(realFolder, PROJECT_FILE), bytes), realFolder };
  } catch (error) {
    return { trust: { is: 'unusable', reason: (error as Error).message }, realFolder: folder };
  }
}

function warningOf(trust: Trust): string | undefined {
  switch (trust.is) {
    case 'changed':
      return 'glovebox.yaml was trusted and has changed since; it may only tighten. Look at it and run: glovebox config trust';
    case 'unusable':
      return `Nobody can say whether glovebox.yaml is trusted, so it may only tighten: ${printable(trust.reason.replace(/\.$/, ''))}.`;
    default:
      return undefined;
  }
}
