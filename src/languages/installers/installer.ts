import type { LanguageName } from '../language.ts';

/** The registries that packages are installed from. */
export const REGISTRY_NAMES = ['pypi', 'npm'] as const;

export type RegistryName = (typeof REGISTRY_NAMES)[number];

/** One installation, with all that was left open filled in. */
export interface Installation {
  /** As {@link parsePackage} took it. */
  readonly package: { readonly text: string; readonly name: string };
  /** The workspace as the program sees it. */
  readonly workspace: string;
  /** A folder that does not exist yet, for all that is of no use afterwards. */
  readonly scratch: string;
  /** Addresses without credentials; the first is the registry, those after it are further ones to look in. */
  readonly addresses: readonly [string, ...string[]];
  /** Whether code of the package may run while it is installed. */
  readonly allowScripts: boolean;
  /** The address of the proxy, which is the only way to them. */
  readonly proxy: string;
  /** Whether the program reads certificates to trust from its standard input, in place of its own or besides. */
  readonly certificates: 'none' | 'instead' | 'besides';
}

/** What follows the interpreter on its command line, and the variables that it gets. */
export interface InstallerCommand {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What is known of a package manager: how it is started with the interpreter of its language, inside. */
export interface Installer {
  readonly registry: RegistryName;
  readonly language: LanguageName;
  /** What the program is called, in messages. */
  readonly tool: string;
  /** Where there is neither a setting nor anything of the host's: the address, and hosts that it has its files on. */
  readonly standard: { readonly address: string; readonly fileHosts: readonly string[] };
  install(installation: Installation): InstallerCommand;
  /** Prints the version that is there now and nothing else, after it has removed the scratch folder. */
  finish(installation: Pick<Installation, 'package' | 'workspace' | 'scratch'>): InstallerCommand;
  /** What is known of a failure, from what the program printed. */
  readonly failures: readonly KnownFailure[];
  /** How the tool is brought into a sandbox that has none. */
  readonly missing: string;
}

/** A failure that the package manager tells in words of its own. */
export interface KnownFailure {
  readonly sign: RegExp;
  /** In a sentence; `{package}` is what was asked for. */
  readonly message: string;
}

/** The exit code of an installation for which there is no package manager. */
export const NO_TOOL = 127;

/** The certificates in the scratch folder. */
export const CERTIFICATES = 'certificates.pem';
