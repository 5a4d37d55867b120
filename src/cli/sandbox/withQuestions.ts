import type { Approvals, Question } from '../../operations/approvals.ts';
import { tellWhereToAnswer, warn } from '../warn.ts';
import { CALLER } from './ask.ts';

/** How long a command goes on before it is looked whether somebody is asked because of it. */
const POLL_MS = 500;

/**
 * Does what a command does. What the background process asks meanwhile, because of it, is asked here: that process has no
 * terminal. Where we have none either, it is said where to answer. What others ask of the same sandbox is theirs: a
 * program that prints here could paint over it, and have the wrong thing approved.
 */
export async function withQuestions(command: () => Promise<number>): Promise<number> {
  const over = new AbortController();
  const known = new Set<string>();
  let opened: Approvals | undefined;
  const look = async (): Promise<void> => {
    const { Approvals } = await import('../../operations/approvals.ts');
    opened ??= await Approvals.open({}, warn);
    for (const question of opened.waiting(CALLER)) {
      if (known.has(question.id)) continue;
      known.add(question.id);
      await askHere(opened, question, over.signal);
    }
  };
  let looking: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    // Whoever asked is told when nobody answers.
    looking = looking.then(look).catch(() => {});
  }, POLL_MS);
  try {
    return await command();
  } finally {
    clearInterval(timer);
    over.abort();
    await looking;
  }
}

async function askHere(approvals: Approvals, question: Question, signal: AbortSignal): Promise<void> {
  const { terminalApprover } = await import('../../operations/terminalApprover.ts');
  const time = Math.max(0, Date.parse(question.expiresAt) - Date.now());
  const until = AbortSignal.any([signal, AbortSignal.timeout(time)]);
  approvals.answer(question, await terminalApprover(tellWhereToAnswer).ask(question, until));
}
