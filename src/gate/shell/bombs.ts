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

/** `f() { f | f & }`: what calls itself one after the other comes to an end, as a walk through folders does. */
export function callsItselfTwice(name: string, body: SyntaxNode): boolean {
  let [calls, inBackground, isPiped] = [0, 0, false];
  const count = (node: SyntaxNode, isBehind: boolean): void => {
    if (isCallOf(name, node)) {
      calls++;
      if (isBehind) inBackground++;
    }
    if (node.type === 'Pipeline') isPiped ||= node.commands.filter((one) => isCallOf(name, one)).length >= 2;
    const isBackground = isBehind || (node.type === 'Statement' && node.background === true);
    forEachChild(node, (child) => count(child, isBackground));
  };
  forEachChild(body, (child) => count(child, false));
  return isPiped || (calls >= 2 && inBackground >= 1);
}

const isCallOf = (name: string, node: SyntaxNode): boolean =>
  node.type === 'Command' && node.name?.value === name;
