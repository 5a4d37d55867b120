import { BlockList, isIP } from 'node:net';

/** Whether nobody beyond this machine can reach what listens on a host. Of names only `localhost` is believed. Pure. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  const version = isIP(bare);
  return version !== 0 && loopback().check(bare, version === 6 ? 'ipv6' : 'ipv4');
}

function loopback(): BlockList {
  const list = new BlockList();
  list.addSubnet('127.0.0.0', 8, 'ipv4');
  list.addAddress('::1', 'ipv6');
  return list;
}
