import { type HostRegistries, type HostRegistry, readHostRegistries } from '../config/hostRegistries.ts';
import type { LoadedSettings } from '../config/index.ts';
import { SandboxError } from '../errors.ts';
import { INSTALLERS } from '../languages/installers/index.ts';
import type { RegistryName } from '../languages/installers/installer.ts';

/** Where packages come from, and who may be reached to get them. */
export interface Registry {
  /** The registry, and further ones to look in. */
  readonly addresses: readonly [string, ...string[]];
  /** As an allowlist takes them, with the port. */
  readonly hosts: readonly string[];
  readonly certificates?: HostRegistry['certificates'];
}

/** Reads this host's own configuration of pip and npm when it is first needed, and keeps it. */
export class Registries {
  readonly #settings: LoadedSettings['settings'];
  readonly #readHost: () => Promise<HostRegistries>;
  #host: Promise<HostRegistries> | undefined;

  constructor(
    settings: LoadedSettings['settings'],
    readHost: () => Promise<HostRegistries> = readHostRegistries,
  ) {
    this.#settings = settings;
    this.#readHost = readHost;
  }

  /** Throws `CONFIG_INVALID` for an address that is not usable. */
  async find(name: RegistryName): Promise<Registry> {
    this.#host ??= this.#readHost();
    this.#host.catch(() => {
      this.#host = undefined;
    });
    const host = (await this.#host)[name];
    const set = { pypi: this.#settings.pypiRegistries, npm: this.#settings.npmRegistries }[name] ?? [];
    return chooseRegistry(name, set, host);
  }
}

/**
 * The settings win over this host's configuration, and that over what everybody uses. Of several addresses in the
 * settings the first is the registry, and the hosts of all can be reached. Pure.
 */
export function chooseRegistry(name: RegistryName, set: readonly string[], host: HostRegistry): Registry {
  const { standard } = INSTALLERS[name];
  const trust = host.certificates === undefined ? {} : { certificates: host.certificates };
  const [first] = set;
  if (first !== undefined) {
    return { addresses: [checked(first, settingOf(name))], hosts: hostsOf(set, settingOf(name)), ...trust };
  }
  const [address = standard.address, ...others] = host.addresses;
  const files = sameHost(address, standard.address) ? standard.fileHosts.map((file) => `${file}:443`) : [];
  const all = [address, ...others].map((written) => checked(written, host.origin));
  return {
    addresses: all as [string, ...string[]],
    hosts: [...new Set([...hostsOf(all, host.origin), ...files])],
    ...trust,
  };
}

function settingOf(name: RegistryName): string {
  return `network.allowed_registries.${name}`;
}

function hostsOf(addresses: readonly string[], origin: string): string[] {
  const hosts = addresses.map((address) => {
    const { hostname, port, protocol } = new URL(checked(address, origin));
    return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
  });
  return [...new Set(hosts)];
}

function sameHost(one: string, other: string): boolean {
  return URL.canParse(one) && new URL(one).host === new URL(other).host;
}

/** The address as it is passed on; it is named in no message, since there may be a password in it. */
function checked(address: string, origin: string): string {
  const refuse = (problem: string, hint: string): SandboxError =>
    new SandboxError('CONFIG_INVALID', `The address of a package registry from ${origin} ${problem}.`, {
      hint,
      details: { origin },
    });
  const fix = 'Set network.allowed_registries to addresses such as https://packages.example.org/simple.';
  if (!URL.canParse(address)) throw refuse('cannot be read', fix);
  const { protocol, username, password, search, hash, href } = new URL(address);
  if (protocol !== 'https:' && protocol !== 'http:')
    throw refuse('begins with neither https:// nor http://', fix);
  if (username !== '' || password !== '') {
    throw refuse(
      'holds a user or a password, which code inside could read',
      'Packages come only from where no password is needed. Set network.allowed_registries to such an address.',
    );
  }
  if (search !== '' || hash !== '') throw refuse('has a query or a fragment', fix);
  return href;
}
