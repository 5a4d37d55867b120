/** Tells what the expressions of a program may be, in any language whose trees can be shown as shapes. */

import { handedTo } from './callbacks.ts';
import { type Call, type Language, withoutReceiver } from './language.ts';
import {
  type Argument,
  type Binding,
  type Block,
  type CallSite,
  EACH,
  type Loop,
  type Program,
  type Scope,
  type Shape,
  type Step,
} from './shapes.ts';
import { sliced, sumOf } from './slices.ts';
import {
  anyOf,
  concatenated,
  costOf,
  DECODED,
  elementsOf,
  handedOn,
  isValue,
  mapOf,
  memberNames,
  NOTHING,
  named,
  type Origin,
  ofEntries,
  ofItems,
  textsOf,
  UNKNOWN,
  type Value,
  withOrigins,
} from './values.ts';
import { variableOf } from './variable.ts';

interface Frame {
  readonly scope: Scope;
  readonly locals: ReadonlyMap<string, Value>;
  readonly depth: number;
  /** Where it runs, if that is known. */
  readonly block?: Block;
}

const MAX_DEPTH = 32;
const MAX_CALL_DEPTH = 3;
/** For one expression, so that the time for a program grows with its length and no faster. */
const MAX_STEPS = 1500;
/** For all of them together, beyond what each may take in any case. */
const MAX_ALL_STEPS = 400_000;
const FEW_STEPS = 10;
const NO_LOCALS: ReadonlyMap<string, Value> = new Map();
const GROWING: ReadonlySet<string> = new Set(['append', 'push', 'extend', 'add', 'insert', 'unshift']);

export class Evaluator<N> {
  readonly #program: Program<N>;
  readonly #language: Language<N>;
  #steps = 0;
  #allSteps = MAX_ALL_STEPS;
  #calls = 0;

  constructor(program: Program<N>, language: Language<N>) {
    this.#program = program;
    this.#language = language;
  }

  /** Whether there was more than could be followed, so that some of it was only looked at in passing. */
  get isExhausted(): boolean {
    return this.#allSteps <= 0;
  }

  /** One pass over all that happens. Names may be used before they stand for something, so several are made. */
  pass(see?: (call: Call) => void): void {
    // What is left is for the pass that sees.
    if (see === undefined && this.isExhausted) return;
    for (const event of this.#program.events) {
      this.#steps = Math.min(MAX_STEPS, Math.max(FEW_STEPS, this.#allSteps));
      const before = this.#steps;
      if (event.kind === 'binding') this.#bind(event);
      else this.#happen(event, see);
      this.#allSteps -= before - this.#steps;
    }
  }

  #bind(event: Binding<N>): void {
    const { scope, name, value, path, isAdded, block } = event;
    const taken = this.#take(
      isValue(value) ? value : this.valueOf(value, { scope, locals: NO_LOCALS, depth: 0, block }),
      path,
    );
    // Attributes are the same for all objects, whoever sets them.
    const variable = variableOf(name, name.startsWith('.') ? this.#program.root : scope);
    const before = isAdded ? variable.before(event) : undefined;
    variable.set(event, before === undefined ? taken : sumOf([before, taken]), block);
  }

  #happen(site: CallSite<N>, see: (call: Call) => void = () => {}): void {
    const frame = { scope: site.scope, locals: NO_LOCALS, depth: 0, block: site.block };
    const call = this.#callOf(site.shape, frame, site);
    for (const index of call.callee.functions) this.#give(index, call, site);
    for (const value of [...call.args, ...call.keywords.values()]) {
      if (value.functions.length === 0) continue;
      const given = {
        ...call,
        args: handedTo(value, call, (made) => this.#resultOf(made)),
        keywords: NO_LOCALS,
      };
      for (const index of value.functions) this.#give(index, given, site);
    }
    this.#grow(site, call);
    see(call);
  }

  /** A function of the program's own may be called with this. */
  #give(index: number, { args, keywords }: Call, site: object): void {
    const own = this.#program.functions[index];
    if (own === undefined) return;
    for (const [i, { name, isRest }] of own.parameters.entries()) {
      const value = isRest ? ofItems(args.slice(i)) : (keywords.get(name) ?? args[i]);
      if (value !== undefined) variableOf(name, own.scope).set(site, value);
    }
  }

  /** `list.append(x)`, `list.push(x)`, `map.set(key, x)` */
  #grow(site: CallSite<N>, { method, receiver, args }: Call): void {
    const isMap = method === 'set' && receiver?.entries !== undefined;
    if (method === undefined || (!isMap && (!GROWING.has(method) || receiver?.items === undefined))) return;
    const shape = this.#language.shapeOf(site.shape.callee);
    const object = shape.kind === 'member' ? this.#language.shapeOf(shape.object) : shape;
    if (object.kind !== 'name') return;
    const variable = variableOf(object.name, site.scope);
    if (isMap) {
      const [key = NOTHING, value = NOTHING] = args;
      const pairs = [...(variable.before(site)?.items ?? []), ofItems([key, value])];
      variable.set(site, mapOf(pairs), site.block);
      return;
    }
    const before = variable.before(site)?.items ?? [];
    const added = method === 'extend' ? args.flatMap(elementsOf) : args;
    const isFirst = method === 'unshift' || (method === 'insert' && args[0]?.number === 0);
    const news = method === 'insert' ? added.slice(1) : added;
    variable.set(site, ofItems(isFirst ? [...news, ...before] : [...before, ...news]), site.block);
  }

  valueOf(node: N, frame: Frame): Value {
    if (this.#steps-- <= 0 || frame.depth > MAX_DEPTH) return NOTHING;
    const value = this.#valueOf(node, frame);
    this.#steps -= costOf(value);
    return value;
  }

  #valueOf(node: N, frame: Frame): Value {
    const inner = { ...frame, depth: frame.depth + 1 };
    const shape = this.#language.shapeOf(node);
    const of = (child: N): Value => this.valueOf(child, inner);
    switch (shape.kind) {
      case 'value':
        return shape.value;
      case 'name':
        return this.#named(shape.name, frame);
      case 'member':
        return this.#member(of(shape.object), this.#property(shape.property, inner));
      case 'slice':
        return sliced(
          of(shape.object),
          ...[shape.from, shape.to, shape.step].map((bound) => (bound === null ? null : of(bound))),
        );
      case 'call':
        return this.#resultOf(this.#callOf(shape, inner));
      case 'sum':
        return sumOf(shape.parts.map(of));
      case 'operation': {
        const [left, right] = [of(shape.left), of(shape.right)];
        return (
          this.#language.operationOf(shape.operator, left, right) ?? {
            ...NOTHING,
            origins: new Set(handedOn([left, right])),
          }
        );
      }
      case 'text': {
        const value = concatenated([
          { ...NOTHING, texts: [''], isOpen: false },
          ...shape.parts.map((part) =>
            typeof part === 'string' ? { ...NOTHING, texts: [part], isOpen: false } : of(part),
          ),
        ]);
        const isWhole = shape.parts.every((part) => typeof part === 'string');
        const origins = [...value.origins].filter((origin) => origin !== 'assembled' || !isWhole);
        return { ...value, origins: new Set([...origins, ...(shape.isDisguised ? DECODED : [])]) };
      }
      case 'list':
        return ofItems(
          this.#arguments(
            shape.items.map((item) => ({ ...item })),
            inner,
          ).args,
        );
      case 'table':
        return this.#table(shape.entries, inner);
      case 'any':
        return anyOf(shape.of.map(of));
      case 'function':
        return { ...NOTHING, functions: [shape.index], isOpen: false };
      case 'each':
        return this.#each(shape.of, shape.loops, inner);
      case 'unknown':
        return NOTHING;
    }
  }

  #named(name: string, { scope, locals, block }: Frame): Value {
    const local = locals.get(name);
    if (local !== undefined) return local;
    for (let at: Scope | null = scope; at !== null; at = at.parent) {
      if (!at.declared.has(name)) continue;
      const value = at.values.get(name)?.valueIn(at === scope ? block : undefined);
      if (value !== undefined) return value;
      // A parameter of which no call is known.
      if (at.parent !== null && !this.#language.isAmbient(name)) return NOTHING;
      break;
    }
    const ofModules = this.#program.starred.map((module) => this.#language.canonical(`${module}.${name}`));
    const global = this.#language.globalNamed(name);
    return ofModules.length === 0 ? global : { ...global, names: new Set([...global.names, ...ofModules]) };
  }

  #property(property: string | N, frame: Frame): Value {
    return typeof property === 'string'
      ? { ...NOTHING, texts: [property], isOpen: false }
      : this.valueOf(property, frame);
  }

  #member(object: Value, property: Value): Value {
    const found: Value[] = [];
    for (const name of textsOf(property)) found.push(this.#memberNamed(object, name));
    if (found.length === 0 && object.entries !== undefined) found.push(...object.entries.values());
    if (found.length === 0 && object.items !== undefined) found.push(...object.items);
    const origins = handedOn([object]).filter((origin) => origin !== 'environment');
    const isHidden = object.names.size > 0 && object.origins.has('assembled');
    const isUnread = found.length === 0 && object.names.size > 0;
    return withOrigins(isUnread ? named(memberNames(object.names, UNKNOWN, (name) => name)) : anyOf(found), [
      ...origins,
      ...[...property.origins].filter((origin) => HIDING.has(origin)),
      ...(isHidden ? (['assembled'] as const) : []),
    ]);
  }

  #memberNamed(object: Value, name: string): Value {
    const entry = object.entries?.get(name);
    if (entry !== undefined) return entry;
    const index = Number(name);
    if (Number.isInteger(index)) {
      const item = object.items?.at(index);
      if (item !== undefined) return item;
      const [text] = object.texts;
      const character = text === undefined ? undefined : [...text.slice(0, 4096)].at(index);
      if (character !== undefined)
        return { ...NOTHING, texts: [character], isOpen: false, origins: new Set(['assembled']) };
    }
    const special = this.#language.memberOf(object, name);
    if (special !== undefined) return special;
    const attribute = this.#program.root.values.get(`.${name}`)?.value;
    const names = memberNames(object.names, name, this.#language.canonical);
    if (attribute === undefined) return named(names);
    const isFilled = [...object.names].some((one) => this.#language.isFilled(one));
    return names.size === 0 ? attribute : isFilled ? anyOf([named(names), attribute]) : named(names);
  }

  #callOf(shape: CallSite<N>['shape'], frame: Frame, site?: CallSite<N>): Call {
    const calleeShape = this.#language.shapeOf(shape.callee);
    const receiver =
      calleeShape.kind === 'member' ? this.valueOf(calleeShape.object, nested(frame)) : undefined;
    const property =
      calleeShape.kind === 'member' ? this.#property(calleeShape.property, nested(frame)) : undefined;
    const method = property?.texts[0];
    const call: Call = {
      callee:
        receiver !== undefined && property !== undefined
          ? this.#member(receiver, property)
          : this.valueOf(shape.callee, nested(frame)),
      ...(receiver === undefined ? {} : { receiver }),
      ...(method === undefined ? {} : { method }),
      ...this.#arguments(shape.args, nested(frame)),
      isNew: shape.isNew,
      line: site?.line ?? 0,
      loop: site?.loop ?? null,
      isGuarded: site?.isGuarded ?? false,
      apply: (callee, args) => this.#apply(callee, args),
    };
    return this.#unwrapped(call);
  }

  #unwrapped(call: Call): Call {
    let current = call;
    for (let i = 0; i < 4; i++) {
      const { bound } = current.callee;
      const plain: Call | undefined =
        bound === undefined
          ? this.#language.unwrapped(current)
          : { ...withoutReceiver(current), callee: bound.callee, args: [...bound.args, ...current.args] };
      if (plain === undefined) return current;
      current = plain;
    }
    return current;
  }

  #arguments(list: readonly Argument<N>[], frame: Frame): Pick<Call, 'args' | 'keywords'> {
    const args: Value[] = [];
    const keywords = new Map<string, Value>();
    for (const { node, keyword, spread } of list.slice(0, 256)) {
      const value = this.valueOf(node, frame);
      if (spread === 'table') for (const [key, entry] of value.entries ?? []) keywords.set(key, entry);
      else if (keyword !== undefined) keywords.set(keyword, value);
      else if (spread === 'list') args.push(...(value.items ?? [withOrigins(NOTHING, value.origins)]));
      else args.push(value);
    }
    return { args, keywords };
  }

  #resultOf(call: Call): Value {
    const result = this.#language.resultOf(call);
    if (result !== undefined) return result;
    if (call.callee.functions.length > 0) return this.#apply(call.callee, call.args);
    const { callee, receiver, args, keywords, method } = call;
    const origins = handedOn([...(receiver === undefined ? [] : [receiver]), ...args, ...keywords.values()]);
    const names = [...callee.names].map((name) => `${name}()`);
    return named(names, method === 'get' ? origins.filter((origin) => origin !== 'environment') : origins);
  }

  #apply(callee: Value, args: readonly Value[]): Value {
    if (this.#steps-- <= 0) return NOTHING;
    if (callee.bound !== undefined)
      return this.#apply(callee.bound.callee, [...callee.bound.args, ...args].slice(0, 64));
    const given = callee.functions.flatMap((index) => this.#program.functions[index] ?? []);
    if (given.length === 0 || this.#calls >= MAX_CALL_DEPTH) {
      const call = this.#unwrapped({
        ...{ callee, args, keywords: NO_LOCALS, isNew: false, line: 0, loop: null, isGuarded: false },
        apply: (inner, others) => this.#apply(inner, others),
      });
      return given.length > 0 ? NOTHING : (this.#language.resultOf(call) ?? NOTHING);
    }
    this.#calls++;
    const results = given.flatMap(({ scope, parameters, returns, yields }) => {
      if (this.#steps-- <= 0) return [];
      const locals = new Map(
        parameters.map(({ name, isRest }, i) => [
          name,
          isRest ? ofItems(args.slice(i)) : (args[i] ?? NOTHING),
        ]),
      );
      for (const [name, value] of locals) if (value === NOTHING) locals.delete(name);
      const frame = { scope, locals, depth: 8 };
      if (yields.length === 0) return returns.slice(0, 8).map((node) => this.valueOf(node, frame));
      const items = yields.slice(0, 16).flatMap(({ node, isAll }) => {
        if (this.#steps <= 0) return [];
        const value = this.valueOf(node, frame);
        const elements = isAll ? elementsOf(value) : [value];
        this.#steps -= elements.length >> 2;
        return elements;
      });
      return [ofItems(items, handedOn(items))];
    });
    this.#calls--;
    return anyOf(results);
  }

  #table(entries: Extract<Shape<N>, { kind: 'table' }>['entries'], frame: Frame): Value {
    const all = new Map<string, Value>();
    const origins = new Set<Origin>();
    const names = new Set<string>();
    for (const [i, { key, value: node }] of entries.slice(0, 256).entries()) {
      const value = this.valueOf(node, frame);
      for (const origin of handedOn([value])) origins.add(origin);
      if (key === null) {
        for (const [name, entry] of value.entries ?? []) all.set(name, entry);
        for (const name of value.names) names.add(name);
      } else {
        const property = this.#property(key, frame);
        all.set(textsOf(property)[0] ?? `${UNKNOWN}${i}`, value);
      }
    }
    return { ...ofEntries(all), names: new Set([...names].slice(0, 8)), origins };
  }

  #each(node: N, loops: readonly Loop<N>[], frame: Frame): Value {
    const [loop, ...rest] = loops;
    if (loop === undefined) return ofItems([this.valueOf(node, frame)]);
    const over = this.valueOf(loop.over, frame);
    const results: Value[] = [];
    for (const element of elementsOf(over)) {
      if (this.#steps <= 0) break;
      const locals = new Map(frame.locals);
      for (const { name, path } of loop.targets) locals.set(name, this.#take(element, path));
      results.push(this.#each(node, rest, { ...frame, locals }));
    }
    const items = results.flatMap(({ items: own }) => own ?? []);
    if (results.length === 0) {
      return withOrigins(NOTHING, handedOn([over]));
    }
    return ofItems(items, handedOn([over, ...items]));
  }

  #take(value: Value, path: readonly Step[]): Value {
    let current = value;
    for (const [i, step] of path.entries()) {
      if (step === EACH) {
        const rest = path.slice(i + 1);
        const taken = elementsOf(current)
          .slice(0, 16)
          .map((element) => this.#take(element, rest));
        return withOrigins(anyOf(taken), handedOn([current]));
      }
      current = this.#member(current, { ...NOTHING, texts: [String(step)], isOpen: false });
    }
    return current;
  }
}

const HIDING: ReadonlySet<Origin> = new Set<Origin>(['assembled', 'decoded', 'fetched', 'asked']);

function nested(frame: Frame): Frame {
  return { ...frame, depth: frame.depth + 1 };
}
