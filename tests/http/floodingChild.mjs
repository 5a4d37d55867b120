// Opens many connections, says half of a request on each, and holds them until its input ends.
import { connect } from 'node:net';

const [port, count] = process.argv.slice(2).map(Number);
/** Most of them never become a request; of those that do no body is ever whole. */
const HALVES = [
  '',
  'P',
  'GET /healthz HTTP/1.1\r\nHost: ',
  `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(1000)}`,
  'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Next: ',
  'GET /healthz HTTP/1.1\r\nHost: x\r\n',
  'POST /v1/executions HTTP/1.1\r\n',
  `POST /v1/executions HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`,
  `POST /v1/executions HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nTransfer-Encoding: chunked\r`,
  `POST /v1/executions HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{"co`,
];

const sockets = [];
let opened = 0;
const failures = new Map();

function open(index) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('connect', () => {
      opened++;
      socket.write(HALVES[index % HALVES.length]);
      resolve();
    });
    socket.on('error', ({ code }) => {
      // One that the server has ended to make room.
      if (code !== 'ECONNRESET' && code !== 'EPIPE') failures.set(code, (failures.get(code) ?? 0) + 1);
      resolve();
    });
    socket.resume();
  });
}

let begun = 0;
async function openMore() {
  while (begun < count) await open(begun++);
}

// No more at a time than may wait to be accepted.
await Promise.all(Array.from({ length: 400 }, openMore));
process.stdout.write(`${JSON.stringify({ opened, failures: Object.fromEntries(failures) })}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
