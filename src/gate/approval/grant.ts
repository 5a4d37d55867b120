/** What a remembered yes is, and for what it holds. Pure. */
import { RISK_LEVELS, type RiskLevel } from '../risk.ts';
import { newId } from './ids.ts';
import { type GrantScope, type GrantWish, type Proposal, proposalHash } from './question.ts';

/** A yes that holds again. */
export interface Grant {
  readonly id: string;
  readonly scope: Exclude<GrantScope, 'once'>;
  /** Of the proposal; of the scope `operation`, of a proposal without code and parameters. */
  readonly hash: string;
  readonly operation: Proposal['operation'];
  readonly runtime: string;
  readonly sandboxId: string | null;
  /** It holds for no higher risk. */
  readonly level: RiskLevel;
  /** The approver's name. */
  readonly givenBy: string;
  /** ISO 8601. */
  readonly givenAt: string;
  /** ISO 8601. */
  readonly expiresAt: string;
  /** Null for any number. */
  readonly usesLeft: number | null;
}

/** How long one holds for which no time was named: a working day. */
export const DEFAULT_GRANT_SEC = 8 * 3600;

/** What is asked for again. */
export interface Wanted {
  readonly proposal: Proposal;
  readonly level: RiskLevel;
}

/** Why a wish leaves nothing to remember, as a sentence; undefined where it does. */
export function whyNoGrant(
  { sandboxId, unknownContent }: Proposal,
  { scope, count }: GrantWish,
): string | undefined {
  if (scope === 'exact' && unknownContent !== undefined)
    return `A grant holds for exactly what was shown, and not all was. ${unknownContent}`;
  if (scope === 'operation' && sandboxId === null)
    return 'A grant for an operation holds in one sandbox, and this one is gone when it is done.';
  if (count === 1) return 'A grant for one time is used up by this time.';
  return undefined;
}

/** The grant that comes with a yes to a proposal, which is its first use. Only where `whyNoGrant` names no reason. */
export function grantFor(
  { proposal, level }: Wanted,
  { scope, forSec = DEFAULT_GRANT_SEC, count }: GrantWish,
  givenBy: string,
  now: number,
): Grant {
  const { operation, runtime, sandboxId } = proposal;
  return {
    id: newId(),
    ...{ scope, hash: hashFor(scope, proposal), operation, runtime, sandboxId, level, givenBy },
    givenAt: new Date(now).toISOString(),
    expiresAt: new Date(now + forSec * 1000).toISOString(),
    usesLeft: count === undefined ? null : count - 1,
  };
}

/** Uses up the grant that holds for what is wanted, and says which: one that is not counted where there is one. */
export function useUp(
  grants: readonly Grant[],
  wanted: Wanted,
  now: number,
): { kept: readonly Grant[]; used?: Grant } {
  const lasting = grants.filter((grant) => isInForce(grant, now));
  const holding = lasting.filter((grant) => holdsFor(grant, wanted));
  const found = holding.find(({ usesLeft }) => usesLeft === null) ?? holding[0];
  if (found === undefined || found.usesLeft === null)
    return { kept: lasting, ...(found === undefined ? {} : { used: found }) };
  const used = { ...found, usesLeft: found.usesLeft - 1 };
  const kept = lasting.flatMap((grant) => {
    if (grant !== found) return [grant];
    return used.usesLeft > 0 ? [used] : [];
  });
  return { kept, used };
}

/** Neither expired, nor used up, nor from a time that has yet to come: then the clock was turned back. */
export function isInForce({ givenAt, expiresAt, usesLeft }: Grant, now: number): boolean {
  return Date.parse(givenAt) <= now && now < Date.parse(expiresAt) && (usesLeft === null || usesLeft > 0);
}

function holdsFor(grant: Grant, { proposal, level }: Wanted): boolean {
  if (RISK_LEVELS.indexOf(level) > RISK_LEVELS.indexOf(grant.level)) return false;
  if (grant.scope === 'operation' && proposal.sandboxId === null) return false;
  if (grant.scope === 'exact' && proposal.unknownContent !== undefined) return false;
  return hashFor(grant.scope, proposal) === grant.hash;
}

function hashFor(scope: Grant['scope'], proposal: Proposal): string {
  if (scope === 'exact') return proposalHash(proposal);
  const { code: _code, unknownContent: _unknown, ...rest } = proposal;
  return proposalHash({ ...rest, parameters: {} });
}
