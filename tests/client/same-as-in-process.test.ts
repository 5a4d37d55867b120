import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { RunningServer } from '../../src/http/server.ts';
import {
  connect,
  getSandbox,
  type OneShotSandbox,
  SandboxManager,
  type SandboxService,
} from '../../src/index.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { SCENARIOS } from './scenarios.ts';
import { KEYS, makeSurroundings, startTestServer } from './support.ts';

describeWith(['bubblewrap'], 'a server, used as a manager of this process is', () => {
  const surroundings = makeSurroundings();
  let server: RunningServer;

  beforeAll(async () => {
    // What a manager of this process reads.
    for (const name of ['HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME']) vi.stubEnv(name, surroundings.env[name]);
    server = await startTestServer(surroundings);
  });
  afterAll(async () => {
    await server.close({ drainSec: 0 });
    vi.unstubAllEnvs();
    surroundings[Symbol.dispose]();
  });

  function inProcess(): SandboxService & OneShotSandbox {
    const options = { configFile: surroundings.configFile, cwd: surroundings.folder };
    const { execute } = getSandbox(options);
    return Object.assign(new SandboxManager(options), { execute });
  }

  it.each(SCENARIOS)('gives the same: $title', async ({ run }) => {
    await using here = inProcess();
    await using there = connect(server.url, { apiKey: KEYS.one });
    const [own, remote] = [
      await run(here, `${surroundings.folder}/here-${Math.random()}`),
      await run(there, `${surroundings.folder}/there-${Math.random()}`),
    ];
    expect(comparable(remote)).toEqual(comparable(own));
  });
});

/** Whatever differs from one run to the next on one side, too. */
const PASSING = new Set([
  'sandboxId',
  'executionId',
  'duration',
  'usage',
  'modifiedAt',
  'uid',
  'at',
  'artifact',
]);

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      // A server keeps sandboxes ready.
      .filter(([key]) => key !== 'warm')
      .map(([key, held]) => [key, PASSING.has(key) ? typeof held : comparable(held)]),
  );
}
