/**
 * Variables of whoever calls. Two kinds matter. Settings (`SANDBOX_…`) are read anew for every sandbox and travel with
 * the request. Surroundings (`PATH`, `HOME`, `DOCKER_HOST`, …) decide which programs, engines and registries of this
 * host are found, all over the drivers: a process has them from its start, so there is one process for each.
 */
import { createHash } from 'node:crypto';
import { delimiter } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** The engine's own, which are no settings of ours. */
const ENGINE = /^DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS|TLS_VERIFY|API_VERSION)$/;

const SETTING = /^(SANDBOX|GLOVEBOX|DOCKER|GVISOR)_/;

/** Where the settings of the user stand, and what is kept of them. */
const PLACES_OF_SETTINGS = ['HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME'];

const SURROUNDING =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TZ|LANG|LC_\w+|XDG_\w+_(HOME|DIR|DIRS)|VIRTUAL_ENV|PYENV_(ROOT|VERSION)|CONDA_PREFIX|NVM_DIR|ASDF_\w+|MISE_\w+|PIP_\w+|UV_\w+|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|PREFIX|NODE_EXTRA_CA_CERTS|(https?|no|all)_proxy|npm_config_(registry|cafile|userconfig|globalconfig))$/i;

/** What the settings of one sandbox are read from. Pure. */
export function settingsOf(environment: Environment): Record<string, string> {
  return pick(
    environment,
    (name) => PLACES_OF_SETTINGS.includes(name) || (SETTING.test(name) && !ENGINE.test(name)),
  );
}

/** The complete environment of a background process: nothing else of the caller's, secrets above all, stays in it. Pure. */
export function surroundingsOf(environment: Environment): Record<string, string> {
  const found = pick(environment, (name) => SURROUNDING.test(name) || ENGINE.test(name));
  return found['PATH'] === undefined ? found : { ...found, PATH: withoutPackageFolders(found['PATH']) };
}

/** A name for these surroundings of this build: what differs gets a process of its own. Pure. */
export function nameOfSurroundings(
  surroundings: Readonly<Record<string, string>>,
  build: readonly string[],
): string {
  const entries = Object.entries(surroundings).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([build, entries]))
    .digest('hex')
    .slice(0, 16);
}

/** `npx` puts a project's own programs before all others, in each folder different ones. */
function withoutPackageFolders(searchPath: string): string {
  return searchPath
    .split(delimiter)
    .filter((folder) => !/\/(node_modules\/\.bin|node-gyp-bin)\/?$/.test(folder))
    .join(delimiter);
}

function pick(environment: Environment, isWanted: (name: string) => boolean): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value !== undefined && isWanted(name) ? [[name, value] as const] : [],
    ),
  );
}
