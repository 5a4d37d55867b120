import type { ClientHello } from './clientHello.ts';
import { type Host, parseHost } from './host.ts';
import { quoted, Refusal } from './refusal.ts';

/**
 * Why a TLS client may not go on in a tunnel to this host; nothing when it may.
 *
 * An encrypted hello is refused even beside the right name: at a large network that serves many domains it leads to any
 * of them, and nobody outside can tell it from the random bytes that browsers send in its place. Of what is used in
 * sandboxes only Chromium and Firefox send it, and they can be told not to.
 */
export function judgeHello(hello: ClientHello, { name }: Host): Refusal | undefined {
  if ('problem' in hello) {
    return new Refusal(
      'not_tls',
      `Glovebox: only TLS may pass in the tunnel to ${quoted(name)}, and ${hello.problem}.`,
    );
  }
  if (hello.hidden) {
    return new Refusal(
      'hidden_name',
      `Glovebox: the TLS hello to ${quoted(name)} has an encrypted part that could name another host. Switch Encrypted Client Hello off.`,
    );
  }
  const [asked, ...others] = hello.names;
  if (asked === undefined) {
    return new Refusal('no_server_name', `Glovebox: the TLS hello to ${quoted(name)} names no server.`);
  }
  if (others.length === 0 && parseHost(asked)?.name === name) return undefined;
  return new Refusal(
    'sni_mismatch',
    `Glovebox: the tunnel is to ${quoted(name)}, and its TLS hello asks for ${quoted(hello.names.join())}.`,
  );
}
