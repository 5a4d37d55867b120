import type { LanguageName } from '../../languages/language.ts';

/** What an operator sets for containers. */
export interface DockerSettings {
  /** The image of every sandbox whose language has none of its own. */
  readonly image: string;
  readonly images: Readonly<Partial<Record<LanguageName, string>>>;
  /** The engine's low-level runtime, such as `runsc`; the engine's default otherwise. */
  readonly runtime?: string;
  /** The path of a seccomp profile that takes the place of ours. */
  readonly seccompProfile?: string;
  /** Further security options, none of which weakens anything. */
  readonly securityOpt: readonly string[];
}

/** What holds where nobody set anything. */
export const DEFAULT_DOCKER_SETTINGS: DockerSettings = {
  image: 'glovebox-sandbox:latest',
  images: {},
  securityOpt: [],
};
