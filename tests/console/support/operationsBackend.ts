/** The console's backend over the real operations: what a server has besides are its keys and its executions. */
import type {
  ConsoleBackend,
  ConsoleChange,
  ConsoleKey,
  WaitingQuestion,
} from '../../../src/console/backend.ts';
import { SandboxError } from '../../../src/errors.ts';
import type { Approvals, Question } from '../../../src/operations/approvals.ts';
import type { AuditTrail } from '../../../src/operations/auditTrail.ts';
import type { SandboxManager } from '../../../src/operations/sandboxManager.ts';
import { ExecutionJournal } from './executionJournal.ts';

/** A key with its secret, which a server would keep as a hash. */
export interface TestKey extends ConsoleKey {
  readonly secret: string;
}

export interface Parts {
  readonly keys: readonly TestKey[];
  readonly approvals: Approvals;
  readonly trail: AuditTrail;
  readonly manager: SandboxManager;
  /** Of which key a sandbox is, by its id. */
  readonly owners: ReadonlyMap<string, ConsoleKey>;
}

/** How often it is looked for questions of other processes. */
const POLL_MS = 100;

export interface OperationsBackend extends ConsoleBackend {
  readonly journal: ExecutionJournal;
  /** For changes that nobody else tells. */
  tell(change: ConsoleChange): void;
}

export function operationsBackend({ keys, approvals, trail, manager, owners }: Parts): OperationsBackend {
  const listeners = new Set<(change: ConsoleChange) => void>();
  const tell = (change: ConsoleChange): void => {
    for (const listener of listeners) listener(change);
  };
  const journal = new ExecutionJournal(tell);

  /** Questions name nobody who asks them; who may see those of a caller knows that they are his. */
  const withAsker = (question: Question): WaitingQuestion => {
    const asker = keys.find(({ id }) => approvals.waiting(id).some((one) => one.id === question.id));
    return { question, askedBy: asker === undefined ? null : { id: asker.id, name: asker.name } };
  };

  return {
    journal,
    tell,
    authenticate: async (secret) => keys.find((key) => key.secret === secret),
    key: async (id) => keys.find((key) => key.id === id),
    questions: async () => approvals.waiting().map(withAsker),
    question: async (id) => withAsker(approvals.read(id)),
    async answer(id, hash, answer, by) {
      const { question, askedBy } = withAsker(approvals.read(id));
      if (askedBy?.id === by.id) {
        throw new SandboxError('FORBIDDEN', 'A key answers no question of its own.', {
          hint: 'Take another key.',
        });
      }
      approvals.answer({ ...question, hash }, answer);
      tell('questions');
    },
    grants: () => approvals.grants(),
    async revoke(id) {
      await approvals.revoke(id);
      tell('grants');
    },
    sandboxes: async () =>
      manager.list().map((info) => ({ ...info, keyName: owners.get(info.id)?.name ?? 'nobody' })),
    executions: async () => journal.list(),
    execution: async (id) => journal.get(id),
    output: (id, options) => journal.output(id, options),
    records: (filter) => trail.records({ filter }),
    verify: () => trail.verify(),
    receipt: async (id) => {
      const receipt = await trail.receipt(id);
      if ('receipt' in receipt) return receipt;
      throw new Error('It was signed, though no key was given.');
    },
    watch(onChange) {
      listeners.add(onChange);
      const idsNow = (): string =>
        approvals
          .waiting()
          .map(({ id }) => id)
          .join();
      let ids = idsNow();
      const poll = setInterval(() => {
        const now = idsNow();
        if (now === ids) return;
        ids = now;
        onChange('questions');
      }, POLL_MS);
      return () => {
        clearInterval(poll);
        listeners.delete(onChange);
      };
    },
  };
}
