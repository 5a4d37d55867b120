// What ordinary Node programs do. Prints the name of each part that worked.
import { exec, execFileSync, fork, spawn } from 'node:child_process';
import { randomBytes, scryptSync } from 'node:crypto';
import dns from 'node:dns/promises';
import { once } from 'node:events';
import { promises as fs, mkdtempSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';

const folder = mkdtempSync(join(os.tmpdir(), 'ordinary-'));

const parts = {
  async 'worker threads'() {
    const code =
      "const { parentPort, workerData } = require('worker_threads'); parentPort.postMessage(workerData * 2)";
    const workers = [1, 2, 3].map((workerData) => new Worker(code, { eval: true, workerData }));
    const answers = await Promise.all(workers.map((worker) => once(worker, 'message')));
    return answers.flat().join() === '2,4,6';
  },
  async 'child processes'() {
    const child = spawn('cat', { stdio: 'pipe' });
    child.stdin.end('through cat');
    const [text] = await once(child.stdout.setEncoding('utf8'), 'data');
    const { stdout } = await promisify(exec)('echo shell | cat');
    const forked = fork(fileURLToPath(import.meta.url), ['child']);
    const [message] = await once(forked, 'message');
    return (
      `${text} ${stdout.trim()} ${message}` === 'through cat shell forked' &&
      `${execFileSync('echo', ['x'])}` === 'x\n'
    );
  },
  async net() {
    for (const where of [{ host: '127.0.0.1', port: 0 }, { path: join(folder, 'socket') }]) {
      const server = net.createServer((socket) => socket.end('hello'));
      await once(server.listen(where), 'listening');
      const address = server.address();
      const client = net.connect(typeof address === 'string' ? { path: address } : { port: address.port });
      const [text] = await once(client.setEncoding('utf8'), 'data');
      server.close();
      if (text !== 'hello') return false;
    }
    return true;
  },
  async fetch() {
    const server = http.createServer((_, response) => response.end('body'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const text = await (await fetch(`http://127.0.0.1:${server.address().port}`)).text();
    server.closeAllConnections();
    server.close();
    return text === 'body';
  },
  async names() {
    return (
      (await dns.lookup('localhost')).address !== '' && Object.keys(os.networkInterfaces()).includes('lo')
    );
  },
  async files() {
    const path = join(folder, 'file');
    await fs.writeFile(path, 'text');
    await fs.cp(path, `${path}.copy`);
    const [entries, { size }] = [await fs.readdir(folder), await fs.stat(path)];
    return entries.includes('file.copy') && size === 4;
  },
  async crypto() {
    return randomBytes(8).length + scryptSync('a', 'b', 8).length === 16;
  },
  async 'signals and timers'() {
    const signalled = once(process, 'SIGUSR2');
    process.kill(process.pid, 'SIGUSR2');
    await Promise.all([signalled, sleep(5)]);
    return os.cpus().length > 0 && os.getPriority() >= 0;
  },
};

if (process.argv[2] === 'child') {
  process.send('forked');
  process.disconnect();
} else {
  for (const [name, part] of Object.entries(parts)) console.log(name, (await part()) ? 'works' : 'fails');
}
