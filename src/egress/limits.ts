/** What one sandbox's proxy allows itself, so that no program inside can use up what is outside. */
export interface ProxyLimits {
  /** Connections from inside at one time. */
  readonly connections: number;
  /** How long a connection may be open without a complete request on it. */
  readonly requestSec: number;
  /** For an answer of the name servers. */
  readonly resolveSec: number;
  /** For a connection to the host, over all of its addresses. */
  readonly connectSec: number;
  /** For the first bytes in a tunnel, where they are looked at. */
  readonly helloSec: number;
  /** How long nothing may pass between us and the host. */
  readonly idleSec: number;
  /** For a connection from inside as a whole. */
  readonly totalSec: number;
  /** How long a connection stays after our last byte, so that whoever reads it hears that byte. */
  readonly lingerSec: number;
  /** How many decisions are kept; those beyond are counted, and told to whoever listens. */
  readonly decisions: number;
}

export const DEFAULT_LIMITS: ProxyLimits = {
  connections: 128,
  requestSec: 60,
  resolveSec: 10,
  connectSec: 15,
  helloSec: 15,
  // A model's answer that does not stream can take minutes.
  idleSec: 300,
  totalSec: 3600,
  lingerSec: 2,
  decisions: 1000,
};
