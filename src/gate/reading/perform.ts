/** Tells an observer what a call does, also where it is somebody else who makes it: `map(os.system, [...])`. */
import type { Observer } from '../observer.ts';
import { type Call, withoutReceiver } from './language.ts';
import { UNKNOWN, type Value, withOrigins } from './values.ts';

/** What a function does with what it is given. */
export type Action = (call: Call, observer: Observer, name: string) => void;

export interface Knowledge {
  readonly actionOf: (name: string) => Action | undefined;
  /** As a person knows it. */
  readonly shown: (name: string) => string;
  /** Of which hiding the name hides what is done. */
  readonly isNotable: (name: string) => boolean;
  /** Which calls nothing that it is given. */
  readonly isLooking: (name: string) => boolean;
  /** Which runs a text as code. */
  readonly isEvaluating: (name: string) => boolean;
}

const HIDING = ['assembled', 'decoded', 'fetched', 'asked'] as const;
const MAX_TARGETS = 64;
/** What only asks of which kind something is: `expect(x).toBeInstanceOf(Function)`. */
const COMPARES =
  /^(to(Be|Equal|StrictEqual|Have)\w*|instanceof|instanceOf|any|an?|(not)?([sS]trict|[dD]eep)*[eE]qual)$/;

export function perform(call: Call, knowledge: Knowledge, observer: Observer): void {
  act(call, knowledge, observer);
  grows(call, observer);
  for (const made of indirectCalls(call, knowledge)) act(made, knowledge, observer);
}

function act(call: Call, knowledge: Knowledge, observer: Observer): void {
  for (const name of call.callee.names) {
    const doer = { name: knowledge.shown(name).replaceAll('\0', '?').slice(0, 80), line: call.line };
    if (HIDING.some((origin) => call.callee.origins.has(origin)) && knowledge.isNotable(name)) {
      observer.hides(doer, 'is reached by a name that is put together or read from elsewhere');
    }
    // One of many things that something may be says little where even its name is not known.
    const isVague = name.endsWith(UNKNOWN) && call.callee.names.size > 1;
    if (!isVague) knowledge.actionOf(name)?.(call, observer, doer.name);
  }
}

const GROWS: ReadonlySet<string> = new Set(['append', 'push', 'extend', 'unshift']);

/** A list that gets longer in a loop without an end. */
function grows({ method = '', receiver, loop, line }: Call, observer: Observer): void {
  if (GROWS.has(method) && receiver?.items !== undefined && loop?.isEndless && !loop.hasExit) {
    observer.see('exhausts_resources', { name: method, line }, 'takes memory without end', true);
  }
}

/** The calls that a function makes which is given another one, with all that it may call it with. */
function indirectCalls(call: Call, { actionOf, isLooking, isEvaluating }: Knowledge): Call[] {
  if (call.callee.names.size === 1 && [...call.callee.names].every(isLooking)) return [];
  const given = [...call.args, ...call.keywords.values()];
  return given.flatMap((value): Call[] => {
    const callee = value.bound?.callee ?? value;
    const isKnown = [...callee.names].some((name) => actionOf(name) !== undefined);
    if (!isKnown) return [];
    const bound = value.bound?.args ?? [];
    // What runs texts as code mostly stands here as a type, or beside things that are no texts.
    const needsText = bound.length === 0 && [...callee.names].some(isEvaluating);
    if (needsText && COMPARES.test(call.method ?? '')) return [];
    const others = given.filter((other) => other !== value);
    const origins = call.receiver?.origins ?? [];
    const lists: (readonly Value[])[] = [
      ...(needsText ? [] : [others]),
      ...others.flatMap(({ items }) => (items === undefined ? [] : [items, ...items.map((item) => [item])])),
      ...others.map((other) => [other]),
      ...(call.receiver?.items ?? []).map((item) => [item]),
      ...(call.receiver === undefined ? [] : [[withOrigins(call.receiver, origins)]]),
    ];
    return lists
      .filter((args) => !needsText || args.some(mayBeCode))
      .slice(0, MAX_TARGETS)
      .map((args) => ({ ...withoutReceiver(call), callee, args: [...bound, ...args], keywords: new Map() }));
  });
}

function mayBeCode({ texts, origins }: Value): boolean {
  return texts.length > 0 || origins.has('fetched') || origins.has('decoded') || origins.has('asked');
}
