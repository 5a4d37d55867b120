// The kernel of a JavaScript context: it runs cells as scripts of one global scope, one after another.
//
// Requests come as lines of JSON on descriptor 3; the host has already rewritten what a script cannot say
// (src/languages/javascriptCell.ts). The program's own output goes straight to descriptors 1 and 2, whoever writes it;
// what we say goes to copies of them, 4 and 5, in frames that a random token starts (src/sandbox/channel.ts).
// Only the standard library, from Node.js 18 on.

import { Buffer } from 'node:buffer';
import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { resolve } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { Script } from 'node:vm';
import { Worker } from 'node:worker_threads';

// What a cell may replace, kept.
const OwnPromise = Promise;
const { stringify, parse } = JSON;
const { assign, defineProperty, entries, getOwnPropertyDescriptor, getPrototypeOf, keys } = Object;
const ObjectPrototype = Object.prototype;
const exitProcess = process.exit.bind(process);
const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;
const pause = new Int32Array(new SharedArrayBuffer(4));

const [REQUESTS, OUT, ERR] = [3, 4, 5];
// A write of this size to a pipe is never torn apart by another one.
const ATOMIC_BYTES = 4096;
const MAX_TEXT = 100_000;
const LEAST_RESULT_BYTES = 1024;
const MAX_TRACEBACK = 64_000;
const MAX_PLAIN_VALUES = 10_000;
const TYPES = new Map([
  ['text/plain', 'text'],
  ['text/html', 'html'],
  ['application/json', 'json'],
  ['text/markdown', 'markdown'],
  ['text/latex', 'latex'],
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['image/svg+xml', 'svg'],
]);
const METHODS = new Map([
  ['_repr_html_', 'text/html'],
  ['_repr_json_', 'application/json'],
  ['_repr_markdown_', 'text/markdown'],
  ['_repr_latex_', 'text/latex'],
  ['_repr_png_', 'image/png'],
  ['_repr_jpeg_', 'image/jpeg'],
  ['_repr_svg_', 'image/svg+xml'],
]);

let token = '';
/** Whether the last cell was interrupted by a request; a signal is sent with it. */
let wasTold = false;
/** How many signals were taken, and how many of them before the last cell began. */
let signals = 0;
let earlierSignals = 0;
/** Called with each signal that is taken. */
let onSignal = () => {};
let cell;

function write(descriptor, data) {
  for (let at = 0; at < data.length; ) {
    try {
      at += writeSync(descriptor, data, at);
    } catch (error) {
      // Some program has made the pipe, which is shared, non-blocking.
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(pause, 0, 0, 2);
    }
  }
}

function send(kind, message) {
  const data = message === undefined ? Buffer.alloc(0) : Buffer.from(stringify(message));
  const room = ATOMIC_BYTES - token.length - 6;
  for (let start = 0; start === 0 || start < data.length; start += room) {
    const part = data.subarray(start, start + room);
    const last = start + room >= data.length;
    const size = part.length.toString(16).padStart(4, '0');
    write(OUT, Buffer.concat([Buffer.from(`\x1e${token}${last ? kind : 'c'}${size}`, 'latin1'), part]));
  }
}

function endErrors() {
  write(ERR, Buffer.from(`\x1e${token}x0000`, 'latin1'));
}

/**
 * Standard output and error that wait until the pipe has room, so that a flood takes no memory. They keep no state of
 * their own, which an interrupt in the middle would break.
 */
function openStream(descriptor) {
  const stream = new Writable({ write: (_chunk, _encoding, done) => done() });
  stream.write = (chunk, encoding, done) => {
    const callback = typeof encoding === 'function' ? encoding : done;
    const bytes =
      typeof chunk === 'string'
        ? Buffer.from(chunk, typeof encoding === 'string' ? encoding : 'utf8')
        : chunk;
    write(descriptor, bytes);
    if (typeof callback === 'function') process.nextTick(callback);
    return true;
  };
  // It stays open, as that of Node.js does.
  stream.end = (chunk, encoding, done) => {
    const callback = [chunk, encoding, done].find((argument) => typeof argument === 'function');
    if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') stream.write(chunk, encoding);
    if (callback !== undefined) process.nextTick(callback);
    return stream;
  };
  stream.fd = descriptor;
  stream._type = 'pipe';
  return stream;
}

for (const [name, descriptor] of [
  ['stdout', 1],
  ['stderr', 2],
]) {
  const stream = openStream(descriptor);
  defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
}

class ExitOfCell {
  constructor(code) {
    this.code = code;
  }
}

class Interrupted extends Error {
  constructor() {
    super('Execution was interrupted.');
    this.name = 'Interrupted';
    this.stack = 'Interrupted: Execution was interrupted.';
  }
}

// Ends the cell; the context stays.
process.exit = (code = process.exitCode ?? 0) => {
  const exit = new ExitOfCell(Number(code) & 0xff);
  cell?.leave(exit);
  throw exit;
};

process.on('uncaughtException', (error) => {
  if (error instanceof ExitOfCell) return;
  write(2, Buffer.from(`Uncaught ${describe(error).traceback}`));
});
process.on('unhandledRejection', (reason) => {
  if (reason instanceof ExitOfCell) return;
  write(2, Buffer.from(`Uncaught (in promise) ${describe(reason).traceback}`));
});

const requireHere = createRequire(`${process.cwd()}/`);
const globals = {
  require: requireHere,
  module: { exports: {} },
  exports: {},
  display: (...values) => {
    const shown = values
      .map((value) => show('display', value, true))
      .filter((promise) => promise !== undefined);
    return shown.length === 0 ? undefined : OwnPromise.all(shown).then(() => undefined);
  },
  __glovebox_import: importModule,
};
for (const [name, value] of entries(globals)) {
  defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

/** As a module in the working folder would import it; `names` are those that it must have. */
async function importModule(specifier, options, names = []) {
  const text = String(specifier);
  const target = /^\.{0,2}\//.test(text) ? pathToFileURL(resolve(process.cwd(), text)).href : text;
  const module = await (options === undefined ? import(target) : import(target, options));
  for (const name of names) {
    if (!(name in module)) {
      throw new SyntaxError(`The requested module '${text}' does not provide an export named '${name}'`);
    }
  }
  return module;
}

// Interrupts
//
// A signal ends a script that computes, through `breakOnSigint`; one that waits is told by a request, which names the
// cell: a signal that comes late must not reach the next one. Node.js watches for signals only while such a script
// runs, and before and after it, and while its own listeners are set and taken off, a signal ends the process. So a
// second thread runs such a script all the time: the watch is never off, and of several the last to begin is ended.

/** What the main thread does: nothing of a cell's, a script of it, what that has left to be called later. */
const [IDLE, COMPUTES, WAITS] = [0, 1, 2];
/** [what the main thread does, whether it has heard the guard] */
const state = new Int32Array(new SharedArrayBuffer(8));
const { store, notify } = Atomics;
function tellGuard(index, value) {
  store(state, index, value);
  notify(state, index);
}

/** How long the main thread may take to hear the guard before what it runs is ended. */
const PATIENCE_MS = 300;

/** How many signals may come before the guard is back from the first of them. */
const LAYERS = 16;

const GUARD = `
const { Script } = require('node:vm');
const { parentPort, workerData: { state, LAYERS, PATIENCE_MS, COMPUTES, WAITS } } = require('node:worker_threads');
const DEEPER = new Script('deeper()');
const forever = new Int32Array(new SharedArrayBuffer(4));
let depth = 0;
let wasSignalled = false;
globalThis.deeper = () => {
  const mine = ++depth;
  if (mine === LAYERS) rest();
  else layer(mine);
};
function layer(mine) {
  for (;;) {
    depth = mine;
    try {
      DEEPER.runInThisContext({ breakOnSigint: true });
    } catch {
      wasSignalled = true;
    }
    // Otherwise we would be the last to begin, and a signal would not end the script that runs.
    Atomics.wait(state, 0, COMPUTES);
  }
}
function rest() {
  parentPort.postMessage(wasSignalled ? 'was signalled' : 'watches');
  if (wasSignalled && Atomics.load(state, 0) === WAITS && !hears()) endWhatRuns();
  wasSignalled = false;
  Atomics.wait(forever, 0, 0);
}
function hears() {
  Atomics.store(state, 1, 0);
  parentPort.postMessage('hear');
  return Atomics.wait(state, 1, 0, PATIENCE_MS) !== 'timed-out' || Atomics.load(state, 0) !== WAITS;
}
function endWhatRuns() {
  try {
    const { Session } = require('node:inspector');
    const session = new Session();
    session.connectToMainThread();
    session.post('Runtime.terminateExecution');
    session.disconnect();
  } catch {
    // This Node.js was built without it: the context ends when it does not heed the interrupt.
  }
}
layer(0);
`;

const guard = new Worker(GUARD, {
  ...{ eval: true, env: {}, execArgv: [] },
  workerData: { state, LAYERS, PATIENCE_MS, COMPUTES, WAITS },
});
guard.unref();
guard.on('error', endAll);
const isGuarded = new OwnPromise((resolve) => {
  guard.on('message', (message) => {
    resolve();
    tellGuard(1, 1);
    if (message === 'was signalled') countSignal();
  });
});

// A listener of a cell's would take the watch away.
for (const listener of process.listeners('newListener')) {
  process.off('newListener', listener);
  process.on('newListener', (name, ...rest) => {
    if (name !== 'SIGINT') listener.call(process, name, ...rest);
  });
}

// Requests

const requests = createInterface({
  input: new Socket({ fd: REQUESTS, readable: true, writable: false }),
  crlfDelay: 0,
});
let turn = OwnPromise.resolve();
requests.on('line', (line) => {
  const request = parse(line);
  if (request.interrupt !== undefined) {
    if (request.interrupt === token) {
      wasTold = true;
      cell?.leave(new Interrupted());
    }
  } else turn = turn.then(() => answer(request)).catch(endAll);
});
requests.on('close', () => exitProcess(0));

function countSignal() {
  signals++;
  onSignal();
}

/** How long a signal may be on its way that was sent with a request; as in src/sandbox/context.ts. */
const LATE_MS = 2000;

/**
 * What was told by a request ends a cell before the signal has come that was sent with it. That must not end the next
 * cell, so it is waited for.
 */
async function takeLateSignal() {
  if (signals === earlierSignals) {
    await new OwnPromise((resolve) => {
      const timer = startTimer(resolve, LATE_MS);
      onSignal = () => {
        stopTimer(timer);
        resolve();
      };
    });
    onSignal = () => {};
  }
  wasTold = false;
  absorbSignal();
}

/**
 * A signal that comes just as a script has ended stays in the watch of Node.js, which then ends the next one at once.
 * So that this is none of a user's, one of ours takes it.
 */
function absorbSignal() {
  try {
    ABSORB.runInThisContext({ breakOnSigint: true });
  } catch {
    // Here it was.
  }
}

const ABSORB = new Script('{ const until = Date.now() + 10; while (Date.now() < until); }', {
  filename: 'glovebox-kernel',
});

/** A cell has broken what we are made of; that the context ends is better than that it hangs. */
function endAll(error) {
  write(2, Buffer.from(`The kernel of the context has failed: ${error?.stack}\n`));
  exitProcess(70);
}

async function answer(request) {
  if (wasTold) await takeLateSignal();
  earlierSignals = signals;
  token = request.token;
  if (request.code === undefined) {
    send('d', {});
    endErrors();
    return;
  }
  const outcome = await run(request);
  if (outcome.error) write(ERR, Buffer.from(outcome.error.traceback));
  endErrors();
  send('d', outcome);
}

async function run({ code, count, names, offset, isAsync, wantsValue, maxResultBytes }) {
  process.exitCode = undefined;
  let leave;
  const left = new OwnPromise((_resolve, reject) => {
    leave = reject;
  });
  left.catch(() => {});
  const current = { leave, room: maxResultBytes };
  cell = current;
  try {
    await isGuarded;
    declare(names);
    let value = evaluate(code, `<cell ${count}>`, offset);
    if (isAsync) value = (await OwnPromise.race([value, left]))?.value;
    if (wantsValue && value !== undefined) await OwnPromise.race([show('result', value, false), left]);
    return { exitCode: Number(process.exitCode ?? 0) & 0xff };
  } catch (error) {
    if (error instanceof ExitOfCell) {
      const { code: exitCode } = error;
      return exitCode === 0
        ? { exitCode }
        : { exitCode, error: { name: 'SystemExit', value: String(exitCode), traceback: '' } };
    }
    const interrupted = error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED';
    if (interrupted) countSignal();
    return { exitCode: 1, error: describe(interrupted ? new Interrupted() : error) };
  } finally {
    tellGuard(0, IDLE);
    if (cell === current) cell = undefined;
    process.exitCode = undefined;
  }
}

/** Makes plain variables of the names that a cell declares, where a global of Node.js would not let itself be set. */
function declare(names) {
  for (const name of names) {
    const known = getOwnPropertyDescriptor(globalThis, name);
    if (known === undefined || (known.configurable && !('value' in known && known.writable))) {
      defineProperty(globalThis, name, {
        value: known === undefined ? undefined : globalThis[name],
        writable: true,
        configurable: true,
        enumerable: true,
      });
    }
  }
}

/** Once the watch for an interrupt is on, the host is told; so none comes too early. */
function evaluate(code, filename, offset) {
  let script;
  globals.__glovebox_start = () => {
    tellGuard(0, COMPUTES);
    send('s');
    script = new Script(code, { filename, columnOffset: -offset });
    return script.runInThisContext();
  };
  defineProperty(globalThis, '__glovebox_start', { value: globals.__glovebox_start, configurable: true });
  try {
    return START.runInThisContext({ breakOnSigint: true });
  } finally {
    tellGuard(0, WAITS);
  }
}

const START = new Script('__glovebox_start()', { filename: 'glovebox-kernel' });

// Errors

function describe(error) {
  let text;
  try {
    text = inspect(error);
  } catch {
    text = '<it cannot be shown>';
  }
  const lines = text
    .split('\n')
    .filter((line) => !/^\s+at .*(glovebox-kernel|node:vm|node:internal\/)/.test(line));
  const traceback = `${cut(lines.join('\n'), MAX_TRACEBACK)}\n`;
  if (isError(error)) {
    return {
      name: cut(said(error, 'name') || 'Error', 200),
      value: cut(said(error, 'message'), MAX_TRACEBACK),
      traceback,
    };
  }
  return { name: 'Error', value: cut(text, MAX_TRACEBACK), traceback: `Uncaught ${traceback}` };
}

function isError(value) {
  try {
    return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
  } catch {
    return false;
  }
}

function said(error, name) {
  try {
    return String(error[name]);
  } catch {
    return '';
  }
}

// Results

/** A promise only where a form has to be waited for. */
function show(type, value, mayBeBundle) {
  if (cell === undefined) {
    write(1, Buffer.from(`${inspect(value)}\n`));
    return undefined;
  }
  const notes = [];
  const bundle = mayBeBundle && isBundle(value) ? { ...value } : bundleOf(value, notes);
  const current = cell;
  const finish = () => sendResult(current, type, bundle, notes);
  const waiting = entries(bundle).filter(([, content]) => typeof content?.then === 'function');
  if (waiting.length === 0) return finish();
  return OwnPromise.all(
    waiting.map(async ([name, content]) => {
      try {
        bundle[name] = await content;
      } catch (error) {
        delete bundle[name];
        notes.push(`${name} was left out: ${said(error, 'message')}`);
      }
    }),
  ).then(finish);
}

function isBundle(value) {
  if (typeof value !== 'object' || value === null) return false;
  const types = keys(value);
  return types.length > 0 && types.every((key) => /^[a-z]+\/[\w.+-]+$/.test(key));
}

function bundleOf(value, notes) {
  const bundle = {};
  const methodOf = (name) => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined;
    try {
      if (value._repr_of_no_such_kind_ !== undefined) return undefined;
      return typeof value[name] === 'function' ? value[name] : undefined;
    } catch {
      return undefined;
    }
  };
  const whole = methodOf('_repr_mimebundle_');
  if (whole !== undefined) {
    try {
      assign(bundle, whole.call(value));
    } catch (error) {
      notes.push(`_repr_mimebundle_ threw ${said(error, 'message')}`);
    }
  }
  for (const [name, type] of METHODS) {
    const method = type in bundle ? undefined : methodOf(name);
    if (method === undefined) continue;
    try {
      const made = method.call(value);
      if (made !== undefined && made !== null) bundle[type] = made;
    } catch (error) {
      notes.push(`${name} threw ${said(error, 'message')}`);
    }
  }
  if (!('text/plain' in bundle)) {
    try {
      bundle['text/plain'] = inspect(value);
    } catch (error) {
      notes.push(`It cannot be shown as text: ${said(error, 'message')}`);
      bundle['text/plain'] = '<object>';
    }
  }
  if (!('application/json' in bundle) && isPlain(value)) bundle['application/json'] = value;
  return bundle;
}

function sendResult(current, type, bundle, notes) {
  if (cell !== current) return;
  const message = { type };
  const extra = {};
  let spent = 0;
  for (const [mediaType, content] of entries(bundle)) {
    if (content === undefined || content === null) continue;
    const name = TYPES.get(mediaType);
    let made;
    let size;
    try {
      made = asJson(name, content);
      size = Buffer.byteLength(stringify(made));
    } catch (error) {
      notes.push(`${name ?? mediaType} was left out: ${said(error, 'message')}`);
      continue;
    }
    if (spent + size > current.room) {
      const left = Math.max(current.room - spent, 0);
      notes.push(
        `${name ?? mediaType} was left out: it has ${size} bytes, and ${left} are left for results.`,
      );
      continue;
    }
    spent += size;
    if (name === undefined) extra[mediaType] = made;
    else message[name] = made;
  }
  if (keys(extra).length > 0) message.extra = extra;
  if (notes.length > 0) message.notes = notes.slice(0, 4).map((note) => cut(note, 150));
  current.room -= Math.max(spent, LEAST_RESULT_BYTES);
  send('r', message);
}

function asJson(name, content) {
  if (content instanceof ArrayBuffer) return Buffer.from(content).toString('base64');
  if (ArrayBuffer.isView(content)) {
    return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64');
  }
  if (name === 'text') return cut(String(content), MAX_TEXT);
  if (name === 'png' || name === 'jpeg') return String(content).replace(/\s/g, '');
  return content;
}

/** Whether JSON says the very same; looks at a bounded number of values. */
function isPlain(value) {
  const waiting = [[value, 0]];
  for (let seen = 0; waiting.length > 0; seen++) {
    const [item, depth] = waiting.pop();
    if (seen > MAX_PLAIN_VALUES || depth > 50) return false;
    if (item === null || typeof item === 'boolean') continue;
    if (typeof item === 'string') {
      if (item.length > MAX_TEXT) return false;
    } else if (typeof item === 'number') {
      if (!Number.isFinite(item) || Object.is(item, -0)) return false;
    } else if (Array.isArray(item)) {
      if (item.length > MAX_PLAIN_VALUES) return false;
      for (const child of item) waiting.push([child, depth + 1]);
    } else if (typeof item === 'object') {
      const prototype = getPrototypeOf(item);
      if (prototype !== ObjectPrototype && prototype !== null) return false;
      const names = Reflect.ownKeys(item);
      if (names.length > MAX_PLAIN_VALUES) return false;
      for (const key of names) {
        const property = typeof key === 'string' ? getOwnPropertyDescriptor(item, key) : undefined;
        if (property === undefined || !('value' in property) || key === 'toJSON') return false;
        waiting.push([property.value, depth + 1]);
      }
    } else return false;
  }
  return true;
}

function cut(text, limit) {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return `${text.slice(0, half)}\n... (${text.length - 2 * half} characters left out)\n${text.slice(-half)}`;
}

//# sourceURL=glovebox-kernel
