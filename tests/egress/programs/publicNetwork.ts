/**
 * Runs in a network of its own, in which addresses of the public internet are on the loopback and a name server of ours
 * answers. Prints what came of each case, as JSON.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { EgressProxy } from '../../../src/egress/proxy.ts';
import { channelTo } from '../world.ts';

const A = 1;
const AAAA = 28;
const GOOD = '9.9.9.9';
const ALSO_GOOD = '2606:4700::1';
/** There is a way to it and nobody at its end. To all others there is no way. */
const NOBODY_ANSWERS = '9.9.9.10';

/** The answers for each name and type, one set of them for each time that it is asked. */
const RECORDS: Record<string, string[][]> = {
  'good.test 1': [[GOOD]],
  'six.test 28': [[ALSO_GOOD]],
  'next.test 1': [['8.8.4.4', NOBODY_ANSWERS, GOOD]],
  'slow.test 1': [[NOBODY_ANSWERS]],
  'none.test 1': [['8.8.4.4']],
  'rebinds.test 1': [[GOOD], ['127.0.0.1'], [GOOD]],
  'half.test 1': [[GOOD, '10.0.0.1']],
  'halfsix.test 1': [[GOOD]],
  'halfsix.test 28': [['::ffff:127.0.0.1']],
};
const asked: string[] = [];

const names = createSocket('udp4');
names.on('message', (query, from) => {
  const { name, type, end } = readQuestion(query);
  asked.push(`${name} ${type}`);
  if (name === 'silent.test') return;
  const sets = RECORDS[`${name} ${type}`];
  const answers = (sets !== undefined && sets.length > 1 ? sets.shift() : sets?.[0]) ?? [];
  const known = Object.keys(RECORDS).some((key) => key.startsWith(`${name} `));
  const header = Buffer.from([
    ...query.subarray(0, 2),
    0x81,
    known ? 0x80 : 0x83,
    0,
    1,
    0,
    answers.length,
    0,
    0,
    0,
    0,
  ]);
  names.send(
    Buffer.concat([header, query.subarray(12, end), ...answers.map((one) => record(type, one))]),
    from.port,
    from.address,
  );
});
names.bind(53, '127.0.0.1');
await once(names, 'listening');

const dialled: string[] = [];
const server = createServer((socket) => {
  dialled.push(socket.localAddress ?? '');
  socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
});
server.listen(80, '::');
await once(server, 'listening');

const proxy = new EgressProxy({
  rules: { allowedDomains: ['*.test'], hostMap: {} },
  limits: { resolveSec: 1, connectSec: 2, requestSec: 1, lingerSec: 0.1 },
});

async function get(name: string): Promise<string> {
  const stream = channelTo(proxy);
  stream.write(`GET http://${name}/ HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
  const answer = await text(stream);
  stream.end();
  return `${answer.slice(9, 12)} ${proxy.decisions.list.at(-1)?.code ?? 'ok'}`;
}

const results: Record<string, unknown> = {};
for (const name of [
  ...[
    'good.test',
    'six.test',
    'next.test',
    'slow.test',
    'none.test',
    'half.test',
    'halfsix.test',
    'unknown.test',
    'silent.test',
  ],
]) {
  asked.length = 0;
  dialled.length = 0;
  results[name] = { answer: await get(name), dialled: [...dialled], asked: [...new Set(asked)].sort() };
}
asked.length = 0;
dialled.length = 0;
results['rebinds.test'] = {
  answers: [await get('rebinds.test'), await get('rebinds.test'), await get('rebinds.test')],
  dialled: [...dialled],
  asked: asked.filter((question) => question.endsWith(` ${A}`)).length,
};
await proxy.close();
server.close();
names.close();
console.log(JSON.stringify(results));

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function record(type: number, address: string): Buffer {
  const data = type === AAAA ? sixBytes(address) : Buffer.from(address.split('.').map(Number));
  return Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]), data]);
}

function sixBytes(address: string): Buffer {
  const mapped = /^::ffff:(.*)$/.exec(address)?.[1];
  if (mapped !== undefined)
    return Buffer.from([...Buffer.alloc(10), 255, 255, ...mapped.split('.').map(Number)]);
  const [before = '', after = ''] = address.split('::');
  const groups = (part: string): number[] =>
    part === ''
      ? []
      : part
          .split(':')
          .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]);
  const head = groups(before);
  const tail = groups(after);
  return Buffer.from([...head, ...Buffer.alloc(16 - head.length - tail.length), ...tail]);
}
