import { type Call, withoutReceiver } from '../reading/language.ts';

/** Another way to write the same call: `f.call(null, x)`, `f.apply(null, [x])`, `Reflect.apply(f, null, [x])`. */
export function unwrapped(call: Call): Call | undefined {
  const { callee, receiver, method, args } = call;
  const plain = withoutReceiver(call);
  const isFunction = receiver !== undefined && (receiver.names.size > 0 || receiver.functions.length > 0);
  if (isFunction && method === 'call') return { ...plain, callee: receiver, args: args.slice(1) };
  if (isFunction && method === 'apply' && !receiver.names.has('Reflect'))
    return { ...plain, callee: receiver, args: args[1]?.items ?? [] };
  if (callee.names.has('Reflect.apply') && args[0] !== undefined)
    return { ...plain, callee: args[0], args: args[2]?.items ?? args[1]?.items ?? [] };
  return undefined;
}
