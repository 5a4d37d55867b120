import { NODE_PRELOAD } from './nodePreload.ts';

export interface ProxyEnvironmentOptions {
  /** Where the proxy is reached on 127.0.0.1, as the program sees it. */
  readonly port: number;
  /** Of the Node that the program may start, as in `20.19.0`; where it is unknown, old ones get no proxy for `fetch`. */
  readonly nodeVersion?: string;
}

/** Never through the proxy: it could not reach what is inside. */
const INSIDE = 'localhost,127.0.0.1,::1';

/** The variables by which programs find the proxy: pip, npm, curl, git, Python's urllib, and Node. */
export function proxyEnvironment({ port, nodeVersion }: ProxyEnvironmentOptions): Record<string, string> {
  const url = `http://127.0.0.1:${port}`;
  return {
    // curl reads the first in small letters only, others only in capitals.
    http_proxy: url,
    HTTP_PROXY: url,
    https_proxy: url,
    HTTPS_PROXY: url,
    all_proxy: url,
    ALL_PROXY: url,
    no_proxy: INSIDE,
    NO_PROXY: INSIDE,
    ...nodeVariables(port, nodeVersion),
  };
}

/**
 * New versions of Node need to be told to read the variables above, and older ones how to use a proxy at all. Never
 * both: each would send through the other.
 */
function nodeVariables(port: number, version: string | undefined): Record<string, string> {
  const builtIn = { NODE_USE_ENV_PROXY: '1' };
  if (version === undefined) return builtIn;
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const atLeast = (...versions: [number, number][]): boolean =>
    versions.some(([a, b], index) => {
      const newest = index === versions.length - 1;
      return (major === a && minor >= b) || (newest && major > a);
    });
  if (atLeast([22, 21], [24, 5])) return builtIn;
  // Others would not start with an option that they do not know.
  if (!atLeast([18, 18], [20, 6])) return {};
  return { NODE_OPTIONS: `--import=${preloadUrl(port)}` };
}

/** The preload as a module without a file: nothing of it can be missing inside, or be changed there. */
function preloadUrl(port: number): string {
  const source = [
    `import { createRequire } from 'node:module';`,
    `(function (require, proxyPort) {${NODE_PRELOAD}})(createRequire('/'), ${port});`,
    // What stands in stack traces, instead of all of this.
    '//# sourceURL=glovebox:proxy',
  ].join('\n');
  return `data:text/javascript;base64,${Buffer.from(source).toString('base64')}`;
}
