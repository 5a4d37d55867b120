import { BlockList, isIPv4, isIPv6 } from 'node:net';

/**
 * Networks of IPv4 that are not the public internet. Those for documentation lead nowhere there, and are where some closed
 * networks put what stands for the internet: they are no way to anything private.
 */
const FORBIDDEN_IPV4 = [
  '0.0.0.0/8', // this host
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT, and the metadata of some clouds
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // the host of a virtual machine in Azure
  '169.254.0.0/16', // link-local, and the metadata of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments, and the metadata of one cloud
  '192.88.99.0/24', // relays of 6to4
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
];

/** All of the public internet of IPv6. Outside are loopback, unique local, link-local, site-local and multicast. */
const PUBLIC_IPV6 = '2000::/3';

/** What is within {@link PUBLIC_IPV6} and not public, or a way to an IPv4 address that nobody needs any more. */
const FORBIDDEN_IPV6 = [
  '2001::/23', // protocol assignments: Teredo, benchmarks, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
];

const forbiddenIpv4 = blockList('ipv4', FORBIDDEN_IPV4);
const forbiddenIpv6 = blockList('ipv6', FORBIDDEN_IPV6);
const publicIpv6 = blockList('ipv6', [PUBLIC_IPV6]);

/** Whether an address may be dialled for a name that the operator has not mapped. What is no address is not public. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !forbiddenIpv4.check(address, 'ipv4');
  // With a zone it means an interface of this host.
  if (!isIPv6(address) || address.includes('%')) return false;
  const inner = embeddedIpv4(address);
  if (inner !== undefined) return isPublicAddress(inner);
  return publicIpv6.check(address, 'ipv6') && !forbiddenIpv6.check(address, 'ipv6');
}

/**
 * The IPv4 address that a mapped one (`::ffff:0:0/96`) stands for, or that the well-known NAT64 (`64:ff9b::/96`) leads to:
 * networks with IPv6 alone reach the public IPv4 internet so. Other translations are outside of what is public.
 */
function embeddedIpv4(address: string): string | undefined {
  const groups = groupsOf(address);
  const prefix = groups
    .slice(0, 6)
    .map((group) => group.toString(16))
    .join(':');
  if (prefix !== '0:0:0:0:0:ffff' && prefix !== '64:ff9b:0:0:0:0') return undefined;
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.');
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const [before = [], after] = address.split('::').map(readGroups);
  if (after === undefined) return before;
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function readGroups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}

function blockList(family: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}
