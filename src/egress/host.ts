import { isIPv4, isIPv6 } from 'node:net';

/**
 * A host in its one spelling: what rules are compared with, what is resolved, dialled, forwarded and logged.
 * It comes from {@link parseHost} only, so it holds nothing but letters, digits, hyphens, dots, and colons in brackets.
 */
export interface Host {
  /** Lower case, without a dot at the end. */
  readonly name: string;
  /** An address, in any notation that some resolver takes for one. */
  readonly isAddress: boolean;
}

/** Where a request wants to go. */
export interface Authority {
  readonly host: Host;
  readonly port: number;
}

const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** How resolvers of old recognise an address: `1`, `127.1`, `0x7f.1` and `0177.0.0.1` all end in a number. */
const NUMBER = /^(?:[0-9]+|0[xX][0-9A-Fa-f]*)$/;

const LONGEST_NAME = 253;

/** Reads a name or an address (IPv6 in brackets); nothing where it is neither, whatever others would make of it. */
export function parseHost(text: string): Host | undefined {
  if (text.startsWith('[')) return parseBracketed(text);
  const plain = text.endsWith('.') ? text.slice(0, -1) : text;
  if (plain.length > LONGEST_NAME) return undefined;
  const labels = plain.split('.');
  // Before the letters are made small: the Kelvin sign would become an ordinary k.
  if (!labels.every((label) => LABEL.test(label))) return undefined;
  return { name: plain.toLowerCase(), isAddress: NUMBER.test(labels.at(-1) ?? '') || isIPv4(plain) };
}

/** Reads `host:port`, or only a host where there is a port to fall back on. */
export function parseAuthority(text: string, defaultPort?: number): Authority | undefined {
  const [, hostText = '', portText] = /^(\[[^\]]*\]|[^:]*)(?::([\s\S]*))?$/.exec(text) ?? [];
  const host = parseHost(hostText);
  const port = portText === undefined ? defaultPort : parsePort(portText);
  return host === undefined || port === undefined ? undefined : { host, port };
}

/** Strictly decimal, 1 to 65535, no zero in front. */
export function parsePort(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,4}$/.test(text)) return undefined;
  const port = Number(text);
  return port <= 65535 ? port : undefined;
}

function parseBracketed(text: string): Host | undefined {
  const address = /^\[([0-9A-Fa-f:.]+)\]$/.exec(text)?.[1];
  if (address === undefined || !isIPv6(address)) return undefined;
  return { name: `[${address.toLowerCase()}]`, isAddress: true };
}
