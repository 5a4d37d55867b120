import { SandboxError } from '../errors.ts';
import type { Context } from './context.ts';
import { onlyTightens } from './surface.ts';
import { cutWarning } from './tightened.ts';

/** What is wished for the life of a sandbox; see `LifeOptions`. */
interface Wish {
  readonly lifetime?: number;
  readonly idleTimeout?: number;
  readonly forwardPorts?: boolean;
}

/**
 * How long a sandbox lives, in seconds. A caller that may only tighten gets no longer life than the operator's; throws
 * `POLICY_DENIED` where such a caller would open ports of this host. Pure.
 */
export function lifeFor(
  { loaded: { settings }, surface }: Pick<Context, 'loaded' | 'surface'>,
  { lifetime = settings.lifetimeSec, idleTimeout = settings.idleTimeoutSec, forwardPorts }: Wish,
): { readonly lifetimeSec: number; readonly idleSec: number; readonly warnings: readonly string[] } {
  if (!onlyTightens(surface)) return { lifetimeSec: lifetime, idleSec: idleTimeout, warnings: [] };
  if (forwardPorts) {
    throw new SandboxError('POLICY_DENIED', 'Ports of the host are not opened for callers of this surface.', {
      hint: 'Leave forwardPorts out.',
      details: { surface },
    });
  }
  const warnings: string[] = [];
  const least = (name: string, asked: number, most: number): number => {
    if (asked > most) warnings.push(cutWarning(name, asked, most, 's'));
    return Math.min(asked, most);
  };
  return {
    lifetimeSec: least('lifetime', lifetime, settings.lifetimeSec),
    idleSec: least('idleTimeout', idleTimeout, settings.idleTimeoutSec),
    warnings,
  };
}
