import type { DecisionListeners, NetworkDecision } from '../egress/decision.ts';
import { proxyEnvironment } from '../egress/environment.ts';
import type { EgressProxy } from '../egress/proxy.ts';
import type { Recording } from '../egress/recording.ts';
import { relayWish } from '../egress/relayChannel.ts';
import type { EgressRules, Policy } from '../policy/policy.ts';
import type { RelayWish } from '../runtimes/runtime.ts';

/** Where the proxy is reached on 127.0.0.1 inside. It is the sandbox's own loopback: nothing else is there. */
const PROXY_PORT = 3128;

export type OnDecision = (decision: NetworkDecision) => void;

/**
 * What leads into and out of the network of one sandbox: a relay that the driver puts there, and behind it, where there
 * is an allowlist, a proxy of ours with its rules.
 */
export class SandboxNetwork {
  /** For the driver. */
  readonly relay: RelayWish;
  readonly #proxy: EgressProxy | undefined;

  private constructor(proxy: EgressProxy | undefined) {
    this.#proxy = proxy;
    this.relay = relayWish({
      port: proxy === undefined ? 0 : PROXY_PORT,
      onConnection: (connection) => (proxy === undefined ? connection.destroy() : proxy.accept(connection)),
    });
  }

  /** Throws `INPUT_INVALID` for rules that are not usable. Without rules it only leads to ports inside. */
  static async open(
    rules: EgressRules | undefined,
    { onPassing, onDecision }: DecisionListeners = {},
  ): Promise<SandboxNetwork> {
    if (rules === undefined) return new SandboxNetwork(undefined);
    // It brings Node's HTTP, which takes longer to load than all else of a run that has no network.
    const { EgressProxy } = await import('../egress/proxy.ts');
    return new SandboxNetwork(
      new EgressProxy({
        rules,
        ...(onPassing === undefined ? {} : { onPassing }),
        ...(onDecision === undefined ? {} : { onDecision }),
      }),
    );
  }

  /** The one that a sandbox needs with this policy; undefined where nothing leads in or out. */
  static async for(
    { egress, network }: Policy,
    { forwardPorts = false, ...listeners }: DecisionListeners & { readonly forwardPorts?: boolean },
  ): Promise<SandboxNetwork | undefined> {
    // In the host's own network, its ports are ours.
    const needed = egress !== undefined || (forwardPorts && network !== 'open');
    return needed ? SandboxNetwork.open(egress, listeners) : undefined;
  }

  /** The variables by which programs find the way out; `nodeVersion` is that of the Node.js that is inside. */
  environment(nodeVersion: string | undefined): Record<string, string> {
    if (this.#proxy === undefined) return {};
    return proxyEnvironment({
      port: PROXY_PORT,
      ...(nodeVersion === undefined ? {} : { nodeVersion }),
    });
  }

  /** Notes what is decided from now on; undefined where there is nothing to decide. */
  record(): Recording | undefined {
    return this.#proxy?.record();
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await this.#proxy?.close();
  }
}
