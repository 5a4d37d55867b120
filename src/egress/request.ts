import { type Authority, parseAuthority } from './host.ts';
import { quoted, Refusal } from './refusal.ts';

/** What Node's parser read of a request; the text of its bytes is Latin-1. */
export interface RequestHead {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly httpVersion: string;
  readonly rawHeaders: readonly string[];
}

/** A plain request, understood. */
export interface PlainRequest {
  readonly target: Authority;
  /** What the host gets to see as the request's target. */
  readonly path: string;
  /** How the length of the body is told, as one header, or that there is none. */
  readonly body: readonly [name: string, value: string] | undefined;
}

/** Headers that mean the connection on which they come and not the message, and so are not passed on. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
]);

/** Methods that have no body where none is told of; others have an empty one. */
const BODILESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']);

/** Understands `CONNECT host:port`. Throws a {@link Refusal}. */
export function readConnect(head: RequestHead): Authority {
  const target = parseAuthority(head.url ?? '');
  if (target === undefined)
    throw malformed(`CONNECT needs a host and a port, and not ${quoted(head.url ?? '')}`);
  refuseOddVersion(head);
  const host = only(head, 'host');
  const named = host === undefined ? target : parseAuthority(host, target.port);
  if (!same(named, target))
    throw malformed(`the Host header says ${quoted(host ?? '')} and CONNECT another host`);
  if (readBody(head) !== undefined) throw malformed('CONNECT has no body');
  return target;
}

/**
 * Understands a plain request: one with `http://host/path` as proxies get them, or, in a tunnel to a port of HTTP, one as
 * servers get them, whose Host header must then say the same as the tunnel. Throws a {@link Refusal}.
 */
export function readPlainRequest(head: RequestHead, tunnel?: Authority): PlainRequest {
  const { target, path } =
    tunnel === undefined ? readAbsolute(head.url ?? '') : readInTunnel(head.url ?? '', tunnel);
  refuseOddVersion(head);
  const host = only(head, 'host');
  if (host === undefined && head.httpVersion !== '1.0') throw malformed('there is no Host header');
  const named = host === undefined ? target : parseAuthority(host, 80);
  if (!same(named, target)) {
    throw malformed(
      `the Host header says ${quoted(host ?? '')} and the request is for ${quoted(target.host.name)}`,
    );
  }
  if (values(head, 'upgrade').length > 0) {
    throw new Refusal(
      'upgrade',
      'Glovebox: a plain HTTP connection cannot become another one. Use https or wss instead.',
    );
  }
  return { target, path, body: readBody(head) };
}

/** The headers that the host gets: one canonical Host, none that mean this connection, and our own word on the body. */
export function forwardedHeaders(head: RequestHead, { target, body }: PlainRequest): string[] {
  const { host, port } = target;
  const dropped = (name: string): boolean => name === 'host' || name === 'content-length';
  return [
    ...['Host', port === 80 ? host.name : `${host.name}:${port}`],
    ...passedOn(head.rawHeaders, dropped),
    ...(body ?? (BODILESS.has(head.method ?? '') ? [] : ['Content-Length', '0'])),
    ...['Connection', 'close'],
  ];
}

/** The headers of an answer that the sandbox gets; nothing where it is in doubt what belongs to the answer. */
export function returnedHeaders(rawHeaders: readonly string[]): string[] | undefined {
  const encodings = pairs(rawHeaders).filter(([name]) => name.toLowerCase() === 'transfer-encoding');
  if (encodings.some(([, value]) => value.toLowerCase() !== 'chunked') || encodings.length > 1)
    return undefined;
  return passedOn(rawHeaders, () => false);
}

function readAbsolute(url: string): { target: Authority; path: string } {
  const [, authority, path = ''] = /^http:\/\/([^/?#\\]*)([/?][^#]*)?$/i.exec(url) ?? [];
  if (authority === undefined) {
    throw malformed(
      `${quoted(url)} is not what a proxy is asked for: CONNECT for https, http://host/path for http`,
    );
  }
  const target = parseAuthority(authority, 80);
  if (target === undefined) throw malformed(`${quoted(authority)} is not a host that Glovebox can read`);
  return { target, path: path.startsWith('/') ? path : `/${path}` };
}

function readInTunnel(url: string, tunnel: Authority): { target: Authority; path: string } {
  if (!/^\/[^#]*$/.test(url)) throw malformed(`${quoted(url)} is not what a server is asked for`);
  return { target: tunnel, path: url };
}

/** How the body's length is told, when that is not in doubt. */
function readBody(head: RequestHead): PlainRequest['body'] {
  const lengths = values(head, 'content-length');
  const encodings = values(head, 'transfer-encoding');
  if (lengths.length + encodings.length > 1) throw malformed('the length of the body is told more than once');
  const [length] = lengths;
  if (length !== undefined) {
    if (!/^[0-9]{1,15}$/.test(length)) throw malformed('the Content-Length is not a number');
    return ['Content-Length', length];
  }
  const [encoding] = encodings;
  if (encoding === undefined) return undefined;
  if (encoding.toLowerCase() !== 'chunked' || head.httpVersion !== '1.1') {
    throw malformed('its Transfer-Encoding is not plainly chunked');
  }
  return ['Transfer-Encoding', 'chunked'];
}

function refuseOddVersion({ httpVersion }: RequestHead): void {
  if (httpVersion !== '1.0' && httpVersion !== '1.1') throw malformed('it is not of HTTP 1.0 or 1.1');
}

function same(one: Authority | undefined, other: Authority): boolean {
  return one?.host.name === other.host.name && one.port === other.port;
}

function only(head: RequestHead, name: string): string | undefined {
  const [value, ...others] = values(head, name);
  if (others.length > 0) throw malformed(`it has more than one ${name} header`);
  return value;
}

function values({ rawHeaders }: RequestHead, name: string): string[] {
  return pairs(rawHeaders)
    .filter(([key]) => key.toLowerCase() === name)
    .map(([, value]) => value);
}

function passedOn(rawHeaders: readonly string[], dropped: (name: string) => boolean): string[] {
  const all = pairs(rawHeaders);
  const named = all
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) =>
      value
        .toLowerCase()
        .split(',')
        .map((one) => one.trim()),
    );
  const ofThisConnection = new Set([...HOP_BY_HOP, ...named]);
  return all
    .filter(([key]) => {
      const name = key.toLowerCase();
      return !ofThisConnection.has(name) && !name.startsWith('proxy-') && !dropped(name);
    })
    .flat();
}

function pairs(rawHeaders: readonly string[]): [string, string][] {
  return rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : []));
}

function malformed(why: string): Refusal {
  return new Refusal('malformed', `Glovebox: the request is refused since ${why}.`);
}
