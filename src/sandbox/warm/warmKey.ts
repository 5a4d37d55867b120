import type { LanguageName } from '../../languages/language.ts';
import {
  LIMIT_NAMES,
  type Policy,
  type Requirements,
  type WantedLimit,
  type WantedLimits,
} from '../../policy/policy.ts';

/** What a guest is made ready for, besides the runtime that makes it. */
export interface WarmKind {
  readonly policy: Policy;
  /** What is shown inside. */
  readonly languages: readonly LanguageName[];
  /** What will run. */
  readonly language: LanguageName;
  readonly preload: readonly string[];
}

type Parts<Shape> = Readonly<Record<keyof Shape, unknown>>;

/**
 * The same text exactly for what one guest serves as well as another: the policy as a whole, every limit and whether somebody
 * asked for it, the languages, what is loaded. Pure. A field that is added to a policy fails to compile until it is here.
 */
export function warmKey({ policy, languages, language, preload }: WarmKind): string {
  const { networkIsDefault, network, egress, limits, requires } = policy;
  const parts = {
    network,
    networkIsDefault,
    egress: egress === undefined ? null : [egress.allowedDomains, Object.entries(egress.hostMap).sort()],
    limits: limitParts(limits),
    requires: requirementParts(requires),
  } satisfies Parts<Policy>;
  return JSON.stringify([language, languages, preload, Object.values(parts)]);
}

function limitParts(limits: WantedLimits): readonly unknown[] {
  return LIMIT_NAMES.map((name) => {
    const limit = limits[name];
    if (limit === undefined) return null;
    return Object.values({ value: limit.value, default: limit.default } satisfies Parts<WantedLimit>);
  });
}

function requirementParts({
  isolation,
  network,
  filesystem,
  processes,
  seccomp,
  limits,
}: Requirements): readonly unknown[] {
  return Object.values({
    isolation,
    network,
    filesystem,
    processes,
    seccomp,
    limits,
  } satisfies Parts<Requirements>);
}
