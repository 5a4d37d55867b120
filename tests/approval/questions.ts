import { type Proposal, proposalHash, type Question } from '../../src/gate/approval/question.ts';
import type { RiskLevel } from '../../src/gate/risk.ts';

interface Wanted extends Partial<Proposal> {
  readonly text?: string;
  readonly level?: RiskLevel;
  readonly timeoutSec?: number;
  readonly sights?: Question['sights'];
}

/** A question on some code, with the hash of what it asks for. */
export function questionOf({
  text = 'import os\nos.remove("data.csv")\n',
  level = 'HIGH',
  timeoutSec = 60,
  sights = [],
  ...given
}: Wanted = {}): Question {
  const proposal: Proposal = {
    operation: 'execute',
    code: { language: 'python', bytes: Buffer.from(text) },
    parameters: { timeout: 30 },
    policy: { network: 'none', limits: { memory_mb: 512 } },
    runtime: 'bubblewrap',
    sandboxId: null,
    ...given,
  };
  const now = Date.now();
  return {
    ...proposal,
    id: 'q-1',
    hash: proposalHash(proposal),
    sights,
    risk: { level, ask: true, timeoutSec, rule: 'code', description: 'Code is run.' },
    askedAt: new Date(now).toISOString(),
    expiresAt: new Date(now + timeoutSec * 1000).toISOString(),
  };
}
