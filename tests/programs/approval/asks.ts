/** Asks on the terminal that controls this process, and prints what came of it as JSON. */
import { TerminalApprover } from '../../../src/gate/approval/terminal.ts';
import { questionOf } from '../../approval/questions.ts';

const question = questionOf({ level: 'HIGH', timeoutSec: 60 });
try {
  const answer = await new TerminalApprover().ask(question, new AbortController().signal);
  process.stdout.write(JSON.stringify({ answer }));
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  process.stdout.write(JSON.stringify({ code, message }));
}
