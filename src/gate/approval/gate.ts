import type { Sight } from '../effects.ts';
import { assess, checkRules, type Risk, type RiskRule } from '../risk.ts';
import { askPeople, MAX_TIMER_MS, type Outcome } from './ask.ts';
import type { Clock } from './clock.ts';
import type { Allowed, Decision, Denied } from './decision.ts';
import { denialOf } from './denial.ts';
import { answerEvent, decisionEvent, type GateEvent, grantEvent, questionEvent } from './events.ts';
import { type Grant, grantFor, whyNoGrant } from './grant.ts';
import { Grants } from './grants.ts';
import { newId } from './ids.ts';
import { type Asked, OpenQuestions } from './openQuestions.ts';
import { frozenJson, ownProposal } from './proposal.ts';
import { type Approver, type GrantWish, type Proposal, proposalHash, type Question } from './question.ts';

export interface GateOptions {
  readonly rules: readonly RiskRule[];
  /** All are asked at once; without any, what needs an approval is denied. */
  readonly approvers?: readonly Approver[];
  readonly grants?: Grants;
  /**
   * Told of everything before it has an effect, and waited for: where it rejects, so does `decide`, and nothing is
   * allowed.
   */
  readonly onEvent?: (event: GateEvent) => void | Promise<void>;
  readonly clock?: Clock;
}

export interface DecideOptions {
  /** As it is recorded; one of our own when absent. */
  readonly requestId?: string | undefined;
  /** Why nobody could look at the code; such code counts as dangerous. */
  readonly notInspected?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Seconds that whoever asks waits for a person. After them `decide` rejects with `APPROVAL_PENDING`; the question stays
   * until its deadline, and the same proposal again uses its answer, once. Without it, until the deadline.
   */
  readonly patienceSec?: number | undefined;
  /** Told of everything about this request, as that of the gate is, and after it. */
  readonly onEvent?: (event: GateEvent) => unknown;
}

/** One request on its way to a decision. */
interface Request {
  readonly id: string;
  readonly proposal: Proposal;
  readonly hash: string;
  readonly sights: readonly Sight[];
  readonly notInspected: string | undefined;
  readonly risk: Risk;
  readonly tell: (event: GateEvent) => Promise<void>;
}

/** Decides, by rules, grants and people, whether what is asked for may be done. When in doubt, the answer is no. */
export class Gate {
  readonly #rules: readonly RiskRule[];
  readonly #approvers: readonly Approver[];
  readonly #grants: Grants;
  readonly #tell: (event: GateEvent) => void | Promise<void>;
  readonly #clock: Clock;
  readonly #open = new OpenQuestions();

  /** Throws `CONFIG_INVALID` for rules that are not what their own examples say. */
  constructor({ rules, approvers = [], clock = Date.now, grants, onEvent = () => {} }: GateOptions) {
    checkRules(rules);
    this.#rules = [...rules];
    this.#approvers = [...approvers];
    this.#grants = grants ?? new Grants({ clock });
    this.#tell = onEvent;
    this.#clock = clock;
  }

  /**
   * Resolves to the decision, which holds the very bytes that it is about. Rejects with `INPUT_INVALID` for a proposal that
   * cannot be shown, with `QUOTA_EXCEEDED` where too many questions of whoever asks are open, and with what `onEvent` or the grants reject with; nothing is allowed then.
   */
  async decide(proposal: Proposal, sights: readonly Sight[], options: DecideOptions = {}): Promise<Decision> {
    const request = this.#request(proposal, sights, options);
    const decision = await this.#decided(request, options);
    await request.tell(decisionEvent(decision, request.sights, request.notInspected));
    return decision;
  }

  /** The grants that are in force. */
  grants(): Promise<readonly Grant[]> {
    return this.#grants.list();
  }

  /** Rejects with `INPUT_INVALID` where there is no grant of this id. */
  async revoke(id: string): Promise<void> {
    await this.#tellRevoked([await this.#grants.revoke(id)]);
  }

  async revokeAll(): Promise<void> {
    await this.#tellRevoked(await this.#grants.revokeAll());
  }

  /** Revokes what was granted in a sandbox that has ended. */
  async endSandbox(sandboxId: string): Promise<void> {
    await this.#tellRevoked(await this.#grants.endSandbox(sandboxId));
  }

  /** Everything is copied before anything is waited for. */
  #request(
    given: Proposal,
    sights: readonly Sight[],
    { notInspected, requestId = newId(), onEvent = () => {} }: DecideOptions,
  ): Request {
    const proposal = ownProposal(given);
    const { operation, parameters } = proposal;
    const seen = frozenJson(sights, 'sights');
    const hidden = { effect: 'hides_what_it_does', isDangerous: true } as const;
    const effects = notInspected === undefined ? seen : [...seen, hidden];
    const risk = assess(this.#rules, { operation, parameters, effects });
    const tell = async (event: GateEvent): Promise<void> => {
      await this.#tell(event);
      await onEvent(event);
    };
    return { id: requestId, proposal, hash: proposalHash(proposal), sights: seen, notInspected, risk, tell };
  }

  async #decided(request: Request, { signal, patienceSec }: DecideOptions): Promise<Decision> {
    if (!request.risk.ask) {
      const because = `${request.risk.description} Nobody has to be asked about that.`;
      return { ...decided(request), verdict: 'allow', by: 'rules', because };
    }
    if (!signal?.aborted) {
      const used = await this.#grants.take(wanted(request));
      if (used !== undefined) {
        await request.tell(grantEvent('grant_used', used, request.id));
        const because = `The grant ${used.id} holds for it, which was given before (${used.givenBy}).`;
        return { ...decided(request), verdict: 'allow', by: 'grant', grantId: used.id, because };
      }
    }
    const outcome = await this.#ask(request, signal, patienceSec);
    return outcome.ended === 'answered' && outcome.answer.approved
      ? this.#allowed(request, outcome, outcome.answer.grant)
      : denied(request, outcome);
  }

  #ask(request: Request, signal: AbortSignal | undefined, patienceSec: number | undefined): Promise<Outcome> {
    const clock = this.#clock;
    // Nobody is asked then, and there is no question to tell of.
    if (this.#approvers.length === 0 || signal?.aborted)
      return askPeople(this.#question(request), this.#approvers, { signal, clock });
    if (patienceSec === undefined) return this.#asked(request, signal).outcome;
    const ask = (own: AbortSignal) => this.#asked(request, own);
    const { askedBy } = request.proposal;
    return this.#open.outcome(request.hash, ask, { patienceSec, signal, clock, askedBy });
  }

  #asked(request: Request, signal: AbortSignal | undefined): Asked {
    const question = this.#question(request);
    const ask = async (): Promise<Outcome> => {
      const names = this.#approvers.map(({ name }) => name);
      await request.tell(questionEvent(request.id, question, names));
      const outcome = await askPeople(question, this.#approvers, { signal, clock: this.#clock });
      await request.tell(answerEvent(request.id, question, outcome));
      return outcome;
    };
    return { question, outcome: ask() };
  }

  #question({ proposal, hash, sights, notInspected, risk }: Request): Question {
    const now = this.#clock();
    return {
      ...proposal,
      ...{ id: newId(), hash, sights, risk },
      ...(notInspected === undefined ? {} : { notInspected }),
      askedAt: new Date(now).toISOString(),
      expiresAt: new Date(now + Math.min(risk.timeoutSec * 1000, MAX_TIMER_MS)).toISOString(),
    };
  }

  async #allowed(
    request: Request,
    { answeredBy, seconds }: Outcome & { readonly ended: 'answered' },
    wish: GrantWish | undefined,
  ): Promise<Allowed> {
    const because = `A person was asked (${answeredBy}) and said yes.`;
    const how = { verdict: 'allow', by: 'person', because, answeredBy, seconds } as const;
    const allowed = { ...decided(request), ...how };
    if (wish === undefined) return allowed;
    const notGranted = whyNoGrant(request.proposal, wish);
    if (notGranted !== undefined) return { ...allowed, notGranted };
    const grant = grantFor(wanted(request), wish, answeredBy, this.#clock());
    // Before it holds: one that is not in the record must not be in force.
    await request.tell(grantEvent('grant_given', grant, request.id));
    await this.#grants.add(grant);
    return { ...allowed, grantId: grant.id };
  }

  async #tellRevoked(grants: readonly Grant[]): Promise<void> {
    for (const grant of grants) await this.#tell(grantEvent('grant_revoked', grant));
  }
}

function wanted({ proposal, risk }: Request) {
  return { proposal, level: risk.level };
}

function decided({ id, proposal, hash, risk }: Request) {
  return { id, proposal, hash, risk };
}

function denied(request: Request, outcome: Outcome): Denied {
  const { ended: reason, seconds } = outcome;
  const isTooLate = outcome.ended !== 'answered' && outcome.tooLateBy !== undefined;
  return {
    ...decided(request),
    ...{ verdict: 'deny', code: isTooLate ? 'APPROVAL_EXPIRED' : 'APPROVAL_DENIED', reason, seconds },
    because: denialOf(outcome, request.risk),
    ...(outcome.ended === 'answered' ? { answeredBy: outcome.answeredBy } : {}),
  };
}
