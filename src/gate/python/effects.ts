/** Reads what a Python program seems to do from its syntax tree. */
import { parser } from '@lezer/python';
import { type Observed, Observer } from '../observer.ts';
import { Evaluator } from '../reading/evaluator.ts';
import { perform } from '../reading/perform.ts';
import { WrittenFiles } from '../writtenFiles.ts';
import { unusualEncoding } from './encoding.ts';
import { surelyBroken } from './errors.ts';
import { PYTHON_KNOWLEDGE } from './knowledge.ts';
import { canonical, globalNamed, isAmbient, isFilled, memberOf } from './names.ts';
import { pythonOperation } from './operations.ts';
import { readPython } from './program.ts';
import { pythonResult } from './results.ts';
import { withPlainLineEnds } from './statements.ts';
import { unwrapped } from './unwrapped.ts';

/** Before the pass that sees: names are used before, and in other places than, they are given something. */
const PASSES = 2;

/** Never throws for any code. Of code that no interpreter accepts nothing is seen. */
export function inspectPythonEffects(code: string, files = new WrittenFiles()): Observed {
  const observer = new Observer(files);
  try {
    const encoding = unusualEncoding(code);
    if (encoding !== undefined) {
      const doer = { name: `the declared encoding ${encoding.name}`, line: encoding.line };
      observer.hides(doer, 'makes another text of the code than the one that is shown');
    }
    observe(withPlainLineEnds(code.replace(/^\ufeff/, '')), observer);
  } catch (error) {
    // Nested too deeply for the stack, here as in the interpreter.
    if (!(error instanceof RangeError)) throw error;
  }
  return observer;
}

function observe(source: string, observer: Observer): void {
  const tree = parser.parse(source);
  if (surelyBroken(source, tree)) return;
  const program = readPython(source, tree);
  const evaluator = new Evaluator(program, {
    ...{ shapeOf: program.shapeOf, globalNamed, isAmbient, isFilled, canonical, memberOf, unwrapped },
    ...{ operationOf: pythonOperation, resultOf: pythonResult },
  });
  for (let pass = 0; pass < PASSES; pass++) evaluator.pass();
  evaluator.pass((call) => perform(call, PYTHON_KNOWLEDGE, observer));
  if (evaluator.isExhausted) observer.hides({ name: 'the code', line: 1 }, 'does more than can be followed');
}
