import type { Approver } from '../gate/approval/question.ts';

/**
 * Asks on the controlling terminal of this process, while nobody else asks there. `onNobody` is told of a question where
 * there is none.
 */
export function terminalApprover(
  onNobody: (question: { readonly id: string; readonly risk: { readonly timeoutSec: number } }) => void,
): Approver {
  return {
    name: 'terminal',
    async ask(question, signal) {
      // Most commands ask nobody.
      const [{ TerminalApprover }, { terminalTurns }] = await Promise.all([
        import('../gate/approval/terminal.ts'),
        import('./terminalTurns.ts'),
      ]);
      try {
        return await new TerminalApprover({ turns: terminalTurns() }).ask(question, signal);
      } catch (error) {
        if (!signal.aborted) onNobody(question);
        throw error;
      }
    },
  };
}
