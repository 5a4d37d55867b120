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

  const become = ({ argv: args, env: wanted, stdin }) => {
    for (const name of Object.keys(env)) if (!(name in wanted)) delete env[name];
    for (const name of Object.keys(wanted)) if (env[name] !== wanted[name]) env[name] = wanted[name];
    argv.push(...args);
    process.execArgv.length = 0;
    Object.defineProperty(process, '_preload_modules', { value: [], configurable: true, enumerable: true });
    if (stdin === true) return;
    fs.closeSync(0);
    fs.openSync(stdin || '/dev/null', 'r');
    if (stdin) fs.unlinkSync(stdin);
  };

  try {
    touch();
  } catch {
    // Another Node.js may not have all of this: then it is only slower.
  }
  // Through what a program prints with: it is written when the call returns, as to every pipe.
  console.log('\x06');
  become(JSON.parse(receive(receive(4).readUInt32BE()).toString()));
})();
