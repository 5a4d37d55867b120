import type { Risk } from '../risk.ts';
import type { Outcome } from './ask.ts';
import type { Proposal } from './question.ts';

interface Decided {
  /** Of the request. */
  readonly id: string;
  /** What was decided about, which nobody else holds: these bytes are what may be run or written, and no others. */
  readonly proposal: Proposal;
  readonly hash: string;
  readonly risk: Risk;
  /** For a model and for a person; where it is denied, with what to do next. */
  readonly because: string;
}

export type Allowed = Decided & { readonly verdict: 'allow' } & (
    | { readonly by: 'rules' }
    | { readonly by: 'grant'; readonly grantId: string }
    | {
        readonly by: 'person';
        /** The approver's name. */
        readonly answeredBy: string;
        readonly seconds: number;
        /** Of the grant that came with the yes. */
        readonly grantId?: string;
        /** Why the grant that was wished for was not given, as a sentence. */
        readonly notGranted?: string;
      }
  );

export interface Denied extends Decided {
  readonly verdict: 'deny';
  readonly code: 'APPROVAL_DENIED' | 'APPROVAL_EXPIRED';
  /** `answered`: a person said no. */
  readonly reason: Outcome['ended'];
  /** The approver's name, where a person said no. */
  readonly answeredBy?: string;
  readonly seconds: number;
}

export type Decision = Allowed | Denied;
