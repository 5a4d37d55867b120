import { type Call, withoutReceiver } from '../reading/language.ts';
import { NOTHING, named } from '../reading/values.ts';
import { memberThrough } from './results.ts';

/** Another way to write the same call: `f.__call__(x)`, `operator.methodcaller('system', x)(os)`. */
export function unwrapped(call: Call): Call | undefined {
  const { callee, receiver, method, args } = call;
  const plain = withoutReceiver(call);
  if (method === '__call__' && receiver !== undefined) return { ...plain, callee: receiver };
  if (callee.names.has('operator.call') || callee.names.has('builtins.apply')) {
    const [inner, ...rest] = args;
    return inner === undefined ? undefined : { ...plain, callee: inner, args: rest };
  }
  if (/^__getattribute__$|^__getattr__$/.test(method ?? '') && receiver !== undefined) {
    return { ...plain, callee: named(['builtins.getattr']), args: [receiver, ...args] };
  }
  if (callee.names.has('operator.methodcaller()') && callee.items !== undefined) {
    const [name = NOTHING, ...rest] = callee.items;
    const method = memberThrough(args[0] ?? NOTHING, name);
    return method === undefined ? undefined : { ...plain, callee: method, args: rest };
  }
  return undefined;
}
