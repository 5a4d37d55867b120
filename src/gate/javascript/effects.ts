/** Reads what a JavaScript program seems to do from its syntax tree. */
import { type Observed, Observer } from '../observer.ts';
import { Evaluator } from '../reading/evaluator.ts';
import { perform } from '../reading/perform.ts';
import { WrittenFiles } from '../writtenFiles.ts';
import { JAVASCRIPT_KNOWLEDGE } from './actions.ts';
import { canonical, globalNamed, isAmbient, isFilled, memberOf } from './names.ts';
import { readJavaScript } from './program.ts';
import { javaScriptOperation, javaScriptResult } from './results.ts';
import { parseProgram } from './syntax.ts';
import { unwrapped } from './unwrapped.ts';

/** Before the pass that sees: names are used before, and in other places than, they are given something. */
const PASSES = 2;

/** Never throws for any code. Of code that no interpreter accepts nothing is seen. */
export function inspectJavaScriptEffects(code: string, files = new WrittenFiles()): Observed {
  const observer = new Observer(files);
  const tree = parseProgram(code.startsWith('\uFEFF') ? code.slice(1) : code);
  if (tree === null) return observer;
  const program = readJavaScript(tree);
  const evaluator = new Evaluator(program, {
    ...{ shapeOf: program.shapeOf, globalNamed, isAmbient, isFilled, canonical, memberOf, unwrapped },
    ...{ operationOf: javaScriptOperation, resultOf: javaScriptResult },
  });
  for (let pass = 0; pass < PASSES; pass++) evaluator.pass();
  evaluator.pass((call) => perform(call, JAVASCRIPT_KNOWLEDGE, observer));
  if (evaluator.isExhausted) observer.hides({ name: 'the code', line: 1 }, 'does more than can be followed');
  return observer;
}
