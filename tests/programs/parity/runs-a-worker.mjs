import { Worker } from 'node:worker_threads';

const worker = new Worker('require("node:worker_threads").parentPort.postMessage(6 * 7)', { eval: true });
worker.on('message', (answer) => console.log(answer));
worker.on('exit', (code) => console.log('worker ended with', code));
