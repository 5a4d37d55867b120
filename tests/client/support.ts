/** A server in this process, for tests of the client. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Caller } from '../../src/http/keys.ts';
import { openLog } from '../../src/http/logging.ts';
import { type RunningServer, startServer } from '../../src/http/server.ts';
import { openTelemetry } from '../../src/http/telemetry.ts';

/** The same for the server and for a manager of this process: nobody is asked, and nothing is cut. */
const SETTINGS = `
security:
  sandbox:
    type: bubblewrap
    gate: 'off'
    audit: 'off'
    min_isolation: namespace
    max_output_kb: 10
    timeout_sec: 30
`;

export interface Surroundings extends Disposable {
  readonly folder: string;
  readonly configFile: string;
  /** Variables for a process, or a reader of settings, that touches nothing of this user. */
  readonly env: NodeJS.ProcessEnv;
}

export function makeSurroundings(): Surroundings {
  const folder = mkdtempSync(join(tmpdir(), 'client-test-'));
  const configFile = join(folder, 'config.yaml');
  writeFileSync(configFile, SETTINGS);
  return {
    folder,
    configFile,
    env: {
      ...process.env,
      HOME: folder,
      XDG_STATE_HOME: join(folder, 'state'),
      XDG_CACHE_HOME: join(folder, 'cache'),
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The keys that a test server knows, each with a caller of its own. */
export const KEYS = { one: 'gbx_the-key-of-one', other: 'gbx_the-key-of-the-other' } as const;

const CALLERS: readonly (readonly [secret: string, caller: Caller])[] = Object.entries(KEYS).map(
  ([name, secret]) => [secret, { id: name, name, scopes: ['execute'], quotas: {} }],
);

export async function startTestServer({ folder, configFile, env }: Surroundings): Promise<RunningServer> {
  return startServer({
    ...{ host: '127.0.0.1', port: 0, telemetry: await openTelemetry({}) },
    // What stands in front of it has a port of its own.
    allowedHosts: ['127.0.0.1'],
    keys: {
      authenticate: (secret) => CALLERS.find(([own]) => own === secret)?.[1],
      find: (id) => CALLERS.map(([, caller]) => caller).find((caller) => caller.id === id),
    },
    log: openLog({ isJson: true, write: () => {} }),
    surroundings: { cwd: folder, configFile, env },
  });
}
