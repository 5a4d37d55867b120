import { type AnyNode, type Comment, type Pattern, parse } from 'acorn';
import { SandboxError } from '../../errors.ts';
import type { ObjectSchema } from '../agentTool.ts';
import { type Documentation, readJsDoc } from './jsdoc.ts';

/** A function that a file exports by its name, and that a comment before it describes. */
export interface DocumentedFunction {
  readonly name: string;
  readonly description: string;
  readonly parameters: ObjectSchema;
  /** The names of the parameters, in the order in which the function takes them. */
  readonly order: readonly string[];
}

/** Finds them without running anything. Throws `CONFIG_INVALID` for what is no module, or not described in full. */
export function documentedFunctions(source: string, path: string): readonly DocumentedFunction[] {
  const comments: Comment[] = [];
  const { body } = parsed(source, path, comments);
  return body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration' || !statement.declaration) return [];
    const documentation = commentBefore(source, statement.start, comments);
    if (documentation === undefined) return [];
    return functionsOf(statement.declaration).map(({ name, params }) => {
      const where = `${path}: ${name}`;
      return described(
        name,
        params,
        unlessThrown(where, () => readJsDoc(documentation)),
        where,
      );
    });
  });
}

interface Named {
  readonly name: string;
  readonly params: readonly Pattern[];
}

function functionsOf(declaration: AnyNode): readonly Named[] {
  if (declaration.type === 'FunctionDeclaration')
    return declaration.id ? [{ name: declaration.id.name, params: declaration.params }] : [];
  if (declaration.type !== 'VariableDeclaration') return [];
  return declaration.declarations.flatMap(({ id, init }) => {
    const isFunction = init?.type === 'ArrowFunctionExpression' || init?.type === 'FunctionExpression';
    return isFunction && id.type === 'Identifier' ? [{ name: id.name, params: init.params }] : [];
  });
}

/** The inside of the JSDoc comment that stands directly before it. */
function commentBefore(source: string, start: number, comments: readonly Comment[]): string | undefined {
  const before = comments.findLast(({ end }) => end <= start);
  if (before?.type !== 'Block' || !before.value.startsWith('*')) return undefined;
  return source.slice(before.end, start).trim() === '' ? before.value : undefined;
}

function described(
  name: string,
  params: readonly Pattern[],
  { description, parameters }: Documentation,
  where: string,
): DocumentedFunction {
  if (description === '') throw unusable(where, 'its comment does not say what it does');
  const order = params.map((param) => {
    const target = param.type === 'AssignmentPattern' ? param.left : param;
    if (target.type === 'Identifier') return target.name;
    throw unusable(where, 'it takes something other than plain parameters apart');
  });
  const documented = order.map((parameter) => {
    const found = parameters.find((one) => one.name === parameter);
    if (found === undefined) throw unusable(where, `its parameter ${parameter} has no @param`);
    return found;
  });
  const required = documented
    .filter(({ isOptional }, i) => !isOptional && params[i]?.type !== 'AssignmentPattern')
    .map((parameter) => parameter.name);
  const properties = Object.fromEntries(documented.map((parameter) => [parameter.name, parameter.schema]));
  return {
    ...{ name, description, order },
    parameters: { type: 'object', properties, required, additionalProperties: false },
  };
}

function parsed(source: string, path: string, onComment: Comment[]) {
  return unlessThrown(path, () => parse(source, { ecmaVersion: 'latest', sourceType: 'module', onComment }));
}

function unlessThrown<T>(where: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw unusable(where, (error as Error).message);
  }
}

function unusable(where: string, why: string): SandboxError {
  return new SandboxError('CONFIG_INVALID', `No tool can be made of ${where}: ${why}.`, {
    hint: 'Write a comment /** What it does. @param {string} name What it is. */ before it, or do not export it.',
    details: { where },
  });
}
