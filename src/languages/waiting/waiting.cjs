// Preloaded by a Node.js that waits for its program: it touches what most programs need, says that it is ready with one
// line on descriptor 1, and blocks until the orders are there. Then Node goes on and loads the program as its own entry.
//
// Orders come on standard input: four bytes with their length, the highest first, then JSON. What follows is the program's.
'use strict';
(() => {
  delete require.cache[__filename];
  // A worker of the program inherits the option that loads this file, and not the variable.
  const { argv, env } = process;
  if (env.GLOVEBOX_WAITING === undefined) return;
  const fs = require('node:fs');

  // What is used for the first time is compiled then: a program shall find it compiled. None of this is seen by it.
  const touch = () => {
    const { Console } = require('node:console');
    const { Writable } = require('node:stream');
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    const printer = new Console({ stdout: nowhere, stderr: nowhere });
    printer.log('%s', 1, { list: [1, 'two', null], map: new Map([[1, new Date(0)]]) }, new Error('x').stack);
    printer.error([new Set([1]), Buffer.from('x'), () => {}, Symbol('x')]);
    require('node:util').inspect({ deep: { deep: { deep: {} } } });
    void process.stderr;
    new (require('node:vm').Script)('1 + 1').runInThisContext();
    for (const name of __MODULES__) if (require('node:module').isBuiltin(name)) require(name);
    clearTimeout(setTimeout(() => {}, 0));
    clearImmediate(setImmediate(() => {}));
    void new URL('file:///').href;
    fs.realpathSync('/proc');
    // Starts the threads that files are read with.
    fs.promises.access('/').catch(() => {});
    // A module, and a file that is not there, through the loader that loads the entry: all of that is microtasks.
    import('data:text/javascript,import "node:fs"; export default 1').catch(() => {});
    import('file:///none.mjs').catch(() => {});
    for (let round = 0; round < 50; round++) process._tickCallback?.();
  };

  // Where a program ends by itself, without an error and with nobody who listens for it, nobody can see how Node.js takes its
  // heap and its threads apart. It may end then as by process.exit(), which leaves that to the kernel. That nobody listens
  // is known where the listeners are looked up; nobody is told of us, and whoever wraps something on the way keeps it.
  const endQuickly = () => {
    const { _events: events, emit, reallyExit } = process;
    const { _cache: modules } = require('node:module');
    // Those of before the program, which may put others into their places.
    const { defineProperty } = Object;
    const endsWith = Function.prototype.call.bind(String.prototype.endsWith);
    let hasFailed = false;
    const lookedUp = Object.create(null);
    const onLookUp = (name, get) => {
      const set = function (value) {
        defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
      };
      defineProperty(lookedUp, name, { get, set, configurable: true });
    };
    // An error is shown when whoever listens for the end has been called.
    onLookUp('uncaughtExceptionMonitor', () => {
      hasFailed = true;
    });
    onLookUp('exit', () => {
      const isPlain = process.emit === emit && process.reallyExit === reallyExit;
      if (!process._exiting || hasFailed || process.exitCode || !isPlain) return;
      // What is no JavaScript may have something to clean up.
      for (const path in modules) if (endsWith(path, '.node')) return;
      process.reallyExit(0);
    });
    if (Object.getPrototypeOf(events) === null) Object.setPrototypeOf(events, lookedUp);
  };

  const receive = (length) => {
    const bytes = Buffer.alloc(length);
    for (let filled = 0; filled < length; ) {
      const count = fs.readSync(0, bytes, filled, length - filled, null);
      // Whoever would have sent it has ended.
      if (count === 0) process.reallyExit(0);
      filled += count;
    }
    return bytes;
  };

  // In a file, as the input of a program that starts cold.
  const keep = (bytes) => {
    const path = '/tmp/.stdin';
    const file = fs.openSync(path, 'wx', 0o400);
    for (let left = bytes; left > 0; ) {
      const part = receive(Math.min(left, 1 << 20));
      for (let written = 0; written < part.length; ) written += fs.writeSync(file, part, written);
      left -= part.length;
    }
    fs.closeSync(file);
    return path;
  };

  const writeFiles = (files) => {
    const mask = process.umask(0o022);
    for (const [path, length] of files) {
      fs.mkdirSync(path.slice(0, path.lastIndexOf('/')), { recursive: true });
      fs.writeFileSync(path, receive(length), { flag: 'wx' });
    }
    process.umask(mask);
  };

  const become = ({ argv: args, env: wanted, stdin, files = [] }) => {
    writeFiles(files);
    for (const name of Object.keys(env)) if (!(name in wanted)) delete env[name];
    for (const name of Object.keys(wanted)) if (env[name] !== wanted[name]) env[name] = wanted[name];
    argv.push(...args);
    process.execArgv.length = 0;
    Object.defineProperty(process, '_preload_modules', { value: [], configurable: true, enumerable: true });
    if (stdin === true) return;
    const path = stdin.bytes === undefined ? stdin : keep(stdin.bytes);
    fs.closeSync(0);
    fs.openSync(path || '/dev/null', 'r');
    if (path) fs.unlinkSync(path);
  };

  // The way to the program: nothing is received, and nothing is written that anybody finds.
  const rehearse = () => {
    writeFiles([]);
    fs.mkdirSync('/', { recursive: true });
    fs.writeFileSync('/dev/null', receive(0), { flag: 'w' });
    const nothing = fs.openSync('/dev/null', 'r');
    const length = Buffer.alloc(4);
    fs.readSync(nothing, length, 0, length.readUInt32BE(), null);
    fs.closeSync(nothing);
    JSON.parse(Buffer.from('{"env":{"NAME":"value"},"files":[["path",1]]}').toString());
    delete env.GLOVEBOX_WAITING;
  };

  // A process that keeps the memory of this one, which so ends at once: see holder/holder.c. To load it is to make it.
  const hold = () => {
    const path = '/tmp/.holder';
    try {
      fs.writeFileSync(path, Buffer.from('__HOLDER__', 'base64'), { flag: 'wx' });
      // It is no module, and is unloaded again: this throws.
      process.dlopen({ exports: {} }, path);
    } finally {
      fs.unlinkSync(path);
    }
  };

  for (const step of [touch, endQuickly, rehearse, hold]) {
    try {
      step();
    } catch {
      // Another Node.js may not have all of this: then it is only slower.
    }
  }
  // Through what a program prints with: it is written when the call returns, as to every pipe.
  console.log('\x06');
  become(JSON.parse(receive(receive(4).readUInt32BE()).toString()));
})();
