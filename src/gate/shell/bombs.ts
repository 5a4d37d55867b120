/** Scripts that start programs without end. */
import { forEachChild, type SyntaxNode, type While } from 'unbash';
/** `while true; do program & done` */
export function isEndlessBomb({ clause, body }: While): boolean {
  const [test] = clause.commands;
  const isEndless = test?.command.type === 'Command' && /^(true|:)$/.test(test.command.name?.value ?? '');
  if (!isEndless || !body.commands.some(({ background }) => background)) return false;
  return !body.commands.some(
    ({ command, background }) =>
      !background && (command.type !== 'Command' || WAITS.has(command.name?.value ?? '')),
  );
}

const WAITS: ReadonlySet<string> = new Set([
  'sleep',
  'wait',
  'read',
  'break',
  'exit',
  'return',
  'inotifywait',
]);

/** `f() { f | f & }` */
export function callsItselfTwice(name: string, body: SyntaxNode): boolean {
  let calls = 0;
  const count = (node: SyntaxNode): void => {
    if (node.type === 'Command' && node.name?.value === name) calls++;
    forEachChild(node, count);
  };
  forEachChild(body, count);
  return calls >= 2;
}
