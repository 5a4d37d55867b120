/**
 * What somebody inside may send to the proxy in order to reach somebody whom the rules do not name. The rules that it is
 * written for are {@link BYPASS_RULES}; nobody but the allowed host may hear of any of it.
 */
import { clientHello, type HelloParts, serverNames, sized } from './clientHello.ts';

export interface Bypass {
  /** What it tries. */
  readonly what: string;
  /** What is sent on one connection, as Latin-1: each part after an answer to the one before has begun. */
  readonly send: readonly string[];
  /** How many requests the allowed host may hear, because they come before the attempt; none by default. */
  readonly heard?: number;
  /** It goes on in a tunnel that is opened. */
  readonly opens?: true;
}

export const ALLOWED = 'a.test';

export const BYPASS_RULES: readonly string[] = [ALLOWED, '*.b.test', 'c.test:8080'];

/** Names that are near to what is allowed. Whoever runs these maps them to a server, which must not hear of any. */
export const FORBIDDEN_NAMES: readonly string[] = [
  'evil.test',
  'sub.a.test',
  'b.test',
  'xb.test',
  'a.test.evil.test',
  'x.b.test.evil.test',
  'evila.test',
  'aa.test',
  'a-test',
  'a.testevil',
  'a.tes',
  'test',
  'localhost',
  'xn--a-test.test',
  '127.0.0.1.evil.test',
];

/** All of them. `port` is one of loopback on which the server for forbidden names listens. */
export function bypasses(port: number): Bypass[] {
  return [
    ...forbiddenNames(),
    ...oddSpellings(),
    ...addresses(port),
    ...ports(port),
    ...requestForms(),
    ...framings(),
    ...laterRequests(),
    ...serverNamesOfTls(),
    ...otherThanTls(),
    ...plainTunnels(),
  ];
}

function forbiddenNames(): Bypass[] {
  const spelled = [...FORBIDDEN_NAMES, 'EVIL.test', 'evil.test.', 'Evil.Test.'];
  return spelled.flatMap((name) => both(`a name that is not listed, ${name}`, name));
}

function oddSpellings(): Bypass[] {
  const spelled = {
    'a user': `${ALLOWED}@evil.test`,
    'the allowed name as user and password': `${ALLOWED}:80@evil.test`,
    'a user of the allowed name': `evil.test@${ALLOWED}`,
    'a NUL before the allowed ending': 'evil.test\0.b.test',
    'a NUL after the allowed name': `${ALLOWED}\0.evil.test`,
    'an escaped NUL': 'evil.test%00.b.test',
    'an escaped dot': 'a%2etest',
    'an escaped number sign': 'evil.test%23.b.test',
    'a backslash before the allowed ending': 'evil.test\\.b.test',
    'a backslash and an at': `${ALLOWED}\\@evil.test`,
    'a number sign before the allowed ending': 'evil.test#.b.test',
    'a question mark before the allowed ending': 'evil.test?.b.test',
    'a space before the allowed ending': 'evil.test .b.test',
    'a tab before the allowed ending': 'evil.test\t.b.test',
    'a comma': `evil.test,${ALLOWED}`,
    'a semicolon': `evil.test;${ALLOWED}`,
    'the rule itself': '*.b.test',
    'nothing below the star': '.b.test',
    'two dots in the middle': 'a..test',
    'two dots at the end': `${ALLOWED}..`,
    'two dots before the allowed ending': 'x..b.test',
    'only a dot': '.',
    'brackets around a name': `[${ALLOWED}]`,
    'a soft hyphen': utf8('a\u00ad.test'),
    'a full-width letter': utf8('\uff41.test'),
    'an ideographic full stop': utf8('a\u3002test'),
    'a Kelvin sign': utf8('\u212a.b.test'),
    'a dotless i': utf8('ev\u0131l.b.test'),
    'a letter of Latin-1': 'x\xe9.b.test',
    'an underscore': 'x_y.b.test',
    'a hyphen at the beginning': '-x.b.test',
    'a label of 64 letters': `${'x'.repeat(64)}.b.test`,
    'a name of 260 letters': `${'x.'.repeat(127)}b.test`,
  };
  return Object.entries(spelled).flatMap(([what, host]) => both(what, host));
}

function addresses(port: number): Bypass[] {
  const spelled = [
    '127.0.0.1',
    '127.0.0.1.',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.0.0.1',
    '0X7F.1',
    '0177.0.0.1',
    '017700000001',
    '0',
    '0.0.0.0',
    '1.0.0.127.',
    utf8('\uff11\uff12\uff17.0.0.1'),
    utf8('\u2460\u2461\u2466.0.0.1'),
    '10.0.0.1',
    '192.168.0.1',
    '172.17.0.1',
    '100.100.100.200',
    '169.254.169.254',
    '8.8.8.8',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:127.0.0.1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[fe80::1%25lo]',
    '[::1%lo]',
    '[fd00:ec2::254]',
    '::1',
  ];
  return spelled.flatMap((address) => [
    connect(`the address ${address}`, `${address}:443`),
    get(`the address ${address}`, `http://${address}/`, address),
    get(
      `the address ${address} and the port of a server`,
      `http://${address}:${port}/`,
      `${address}:${port}`,
    ),
  ]);
}

function ports(port: number): Bypass[] {
  const wanted = [
    `${port}`,
    '22',
    '25',
    '0',
    '0443',
    '00080',
    '65979',
    '4294967739',
    '443x',
    '+443',
    ' 443',
    '-1',
    '',
  ];
  return [
    ...wanted.map((text) => connect(`the port "${text}"`, `${ALLOWED}:${text}`)),
    ...wanted.map((text) => get(`the port "${text}"`, `http://${ALLOWED}:${text}/`, `${ALLOWED}:${text}`)),
    connect('no port', ALLOWED),
    connect('two ports', `${ALLOWED}:443:${port}`),
    connect('a port that is listed for another name', `${ALLOWED}:8080`),
    connect('a usual port where another one is listed', 'c.test:443'),
    get('a usual port where another one is listed', 'http://c.test/', 'c.test'),
  ];
}

function requestForms(): Bypass[] {
  const forms: [string, string][] = [
    ['the request of a server, for another host', request('GET /', ['Host: evil.test'])],
    ['the request of a server', request('GET /', [`Host: ${ALLOWED}`])],
    ['a target without a scheme', request('GET //evil.test/', ['Host: evil.test'])],
    ['only a name as the target', request(`GET ${ALLOWED}`, [`Host: ${ALLOWED}`])],
    ['a star as the target', request('OPTIONS *', [`Host: ${ALLOWED}`])],
    ['HTTPS without a tunnel', request(`GET https://${ALLOWED}/`, [`Host: ${ALLOWED}`])],
    ['FTP', request(`GET ftp://${ALLOWED}/`, [`Host: ${ALLOWED}`])],
    ['a file', request('GET file:///etc/passwd', [`Host: ${ALLOWED}`])],
    ['one slash', request(`GET http:/${ALLOWED}/`, [`Host: ${ALLOWED}`])],
    ['no slash', request(`GET http:${ALLOWED}/`, [`Host: ${ALLOWED}`])],
    ['three slashes', request(`GET http:///${ALLOWED}/`, [`Host: ${ALLOWED}`])],
    ['backslashes', request('GET http:\\\\evil.test\\', [`Host: ${ALLOWED}`])],
    ['a fragment', request(`GET http://${ALLOWED}/#@evil.test/`, [`Host: ${ALLOWED}`])],
    [
      'a fragment before the host is over',
      request(`GET http://${ALLOWED}#@evil.test/`, [`Host: ${ALLOWED}`]),
    ],
    ['another host in the Host header', get2('evil.test')],
    ['another host in the Host header, near', get2(`${ALLOWED}.evil.test`)],
    ['another port in the Host header', get2(`${ALLOWED}:8080`)],
    ['an address in the Host header', get2('127.0.0.1')],
    ['a user in the Host header', get2(`evil.test@${ALLOWED}`)],
    ['a list in the Host header', get2(`${ALLOWED}, evil.test`)],
    ['a NUL in the Host header', get2(`${ALLOWED}\0`)],
    ['an empty Host header', get2('')],
    ['no Host header', request(`GET http://${ALLOWED}/`, [])],
    ['two Host headers', request(`GET http://${ALLOWED}/`, [`Host: ${ALLOWED}`, 'Host: evil.test'])],
    [
      'two Host headers, the other first',
      request(`GET http://${ALLOWED}/`, ['Host: evil.test', `Host: ${ALLOWED}`]),
    ],
    [
      'the same Host header twice',
      request(`GET http://${ALLOWED}/`, [`Host: ${ALLOWED}`, `Host: ${ALLOWED}`]),
    ],
    [
      'a space after the name of the header',
      request(`GET http://${ALLOWED}/`, [`Host: ${ALLOWED}`, 'Host : evil.test']),
    ],
    ['a folded Host header', request(`GET http://${ALLOWED}/`, [`Host: ${ALLOWED}`, ' evil.test'])],
    [
      'a return without a line feed',
      request(`GET http://${ALLOWED}/`, [`Host: ${ALLOWED}`, 'X: y\rHost: evil.test']),
    ],
    ['a line feed in the target', request(`GET http://${ALLOWED}/\nHost:evil.test`, [`Host: ${ALLOWED}`])],
    ['a space in the target', request(`GET http://${ALLOWED}/ evil.test/`, [`Host: ${ALLOWED}`])],
    ['HTTP 0.9', 'GET http://evil.test/\r\n'],
    ['HTTP 2.0 in the words of 1.1', request(`GET http://${ALLOWED}/`, [`Host: ${ALLOWED}`], 'HTTP/2.0')],
    ['HTTP 1.2', request(`GET http://${ALLOWED}/`, [`Host: ${ALLOWED}`], 'HTTP/1.2')],
    ['the beginning of HTTP 2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['the beginning of TLS', latin1(clientHello({ names: ['evil.test'] }))],
    ['SOCKS 4', '\x04\x01\x01\xbb\x7f\x00\x00\x01\x00'],
    ['SOCKS 5', '\x05\x01\x00'],
    ['SOCKS 4a', '\x04\x01\x01\xbb\x00\x00\x00\x01\x00evil.test\x00'],
    ['a method in small letters', request('connect evil.test:443', ['Host: evil.test'])],
    ['an upgrade to WebSocket', upgrade('websocket')],
    ['an upgrade to HTTP 2', upgrade('h2c')],
    ['CONNECT with another Host', request(`CONNECT ${ALLOWED}:443`, ['Host: evil.test:443'])],
    ['CONNECT with another port in the Host', request(`CONNECT ${ALLOWED}:443`, [`Host: ${ALLOWED}:22`])],
    [
      'CONNECT with two Hosts',
      request(`CONNECT ${ALLOWED}:443`, [`Host: ${ALLOWED}:443`, 'Host: evil.test:443']),
    ],
    ['CONNECT with a URL', request(`CONNECT http://${ALLOWED}:443/`, [`Host: ${ALLOWED}:443`])],
    ['CONNECT with a path', request(`CONNECT ${ALLOWED}:443/`, [`Host: ${ALLOWED}:443`])],
    ['CONNECT with a body', request(`CONNECT ${ALLOWED}:443`, [`Host: ${ALLOWED}:443`, 'Content-Length: 5'])],
    ['CONNECT with a chunked body', request(`CONNECT ${ALLOWED}:443`, ['Transfer-Encoding: chunked'])],
    [
      'CONNECT with the answer of a proxy that is trusted',
      request('CONNECT evil.test:443', ['Proxy-Authorization: Basic YTpi']),
    ],
    [
      'headers that name another sandbox',
      request('GET http://evil.test/', ['Host: evil.test', 'X-Forwarded-For: 127.0.0.1']),
    ],
  ];
  return forms.map(([what, send]) => ({ what, send: [send] }));

  function get2(host: string): string {
    return request(`GET http://${ALLOWED}/`, [`Host: ${host}`]);
  }
  function upgrade(protocol: string): string {
    const wish = [
      'Connection: Upgrade, HTTP2-Settings',
      `Upgrade: ${protocol}`,
      'HTTP2-Settings: AAMAAABkAAQAAP__',
    ];
    return request(`GET http://${ALLOWED}/`, [`Host: ${ALLOWED}`, ...wish]);
  }
}

/** A second request, for the allowed host but never sent as one, that is heard when two readers disagree on the first. */
function framings(): Bypass[] {
  const hidden = request(`GET http://${ALLOWED}/hidden`, [`Host: ${ALLOWED}`]);
  const length = Buffer.byteLength(`0\r\n\r\n${hidden}`);
  const framed: [string, string[], string?][] = [
    ['a length and chunks', [`Content-Length: ${length}`, 'Transfer-Encoding: chunked']],
    ['chunks and a length', ['Transfer-Encoding: chunked', `Content-Length: ${length}`]],
    ['two lengths', ['Content-Length: 5', `Content-Length: ${length}`]],
    ['the same length twice', ['Content-Length: 5', 'Content-Length: 5']],
    ['a list of lengths', ['Content-Length: 5, 5']],
    ['a length with a sign', ['Content-Length: +5']],
    ['a negative length', ['Content-Length: -5']],
    ['a length in hexadecimal', ['Content-Length: 0x5']],
    ['a length with a space in it', ['Content-Length: 5 5']],
    ['an endless length', [`Content-Length: ${'9'.repeat(30)}`]],
    ['an empty length', ['Content-Length: ']],
    ['chunks twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
    ['chunks in chunks', ['Transfer-Encoding: chunked, chunked']],
    ['chunks that are not the last encoding', ['Transfer-Encoding: chunked, identity']],
    ['an unknown encoding', ['Transfer-Encoding: xchunked']],
    ['an encoding with a vertical tab', ['Transfer-Encoding: \x0bchunked']],
    ['an encoding in quotes', ['Transfer-Encoding: "chunked"']],
    ['an encoding after gzip', ['Transfer-Encoding: gzip, chunked']],
    ['an encoding with a space before its colon', ['Transfer-Encoding : chunked', 'Content-Length: 5']],
    ['a folded encoding', ['Transfer-Encoding:', ' chunked', 'Content-Length: 5']],
    ['chunks in HTTP 1.0', ['Transfer-Encoding: chunked'], 'HTTP/1.0'],
  ];
  return [
    ...framed.map(([what, headers, version]) => ({
      what: `a body with ${what}`,
      send: [
        `${request(`POST http://${ALLOWED}/`, [`Host: ${ALLOWED}`, ...headers], version)}0\r\n\r\n${hidden}`,
      ],
    })),
  ];
}

/** Attempts after something that is allowed, on the same connection. */
function laterRequests(): Bypass[] {
  const first = request(`GET http://${ALLOWED}/first`, [`Host: ${ALLOWED}`]);
  const then: [string, string][] = [
    ['for another host', request('GET http://evil.test/', ['Host: evil.test'])],
    ['with another Host header', request(`GET http://${ALLOWED}/`, ['Host: evil.test'])],
    ['of the kind that servers get', request('GET /', ['Host: evil.test'])],
    ['of the kind that servers get, for the same host', request('GET /', [`Host: ${ALLOWED}`])],
    ['for a tunnel', request('CONNECT evil.test:443', ['Host: evil.test:443'])],
    [
      'to upgrade',
      request(`GET http://${ALLOWED}/`, [`Host: ${ALLOWED}`, 'Connection: upgrade', 'Upgrade: h2c']),
    ],
  ];
  return [
    ...then.map(([what, second]) => ({ what: `a second request ${what}`, send: [first, second], heard: 1 })),
    ...then.map(([what, second]) => ({
      what: `a second request ${what}, without waiting`,
      send: [first + second],
      // A CONNECT in the row ends the connection at once.
      heard: what === 'for a tunnel' ? 0 : 1,
    })),
    {
      what: 'a request within the chunks of another one, after their end',
      send: [
        `${request(`POST http://${ALLOWED}/first`, [`Host: ${ALLOWED}`, 'Transfer-Encoding: chunked'])}3\r\nabc\r\n0\r\n\r\n${request('GET http://evil.test/', ['Host: evil.test'])}`,
      ],
      heard: 1,
    },
    {
      what: 'a chunk whose size is written in two ways',
      send: [
        `${request(`POST http://${ALLOWED}/`, [`Host: ${ALLOWED}`, 'Transfer-Encoding: chunked'])}0x3\r\nabc\r\n0\r\n\r\n`,
      ],
    },
  ];
}

function serverNamesOfTls(): Bypass[] {
  const hellos: [string, HelloParts][] = [
    ['another name', { names: ['evil.test'] }],
    ['a name below', { names: [`sub.${ALLOWED}`] }],
    ['a name that begins alike', { names: [`${ALLOWED}.evil.test`] }],
    ['another allowed name', { names: ['x.b.test'] }],
    ['no name', {}],
    ['an empty name', { names: [''] }],
    ['an address', { names: ['127.0.0.1'] }],
    ['two names', { names: [ALLOWED, 'evil.test'] }],
    ['the same name twice', { names: [ALLOWED, ALLOWED] }],
    ['a name with a NUL', { names: [`${ALLOWED}\0.evil.test`] }],
    ['a name with a NUL at its end', { names: [`${ALLOWED}\0`] }],
    ['a name with two dots at its end', { names: [`${ALLOWED}..`] }],
    ['a name with a port', { names: [`${ALLOWED}:443`] }],
    ['a name of full-width letters', { names: [utf8('\uff41.test')] }],
    ['two extensions for names', { names: [ALLOWED], extensions: [[0, serverNames(['evil.test'])]] }],
    [
      'two extensions for names, the other first',
      {
        extensions: [
          [0, serverNames(['evil.test'])],
          [0, serverNames([ALLOWED])],
        ],
      },
    ],
    ['an unknown type of name', { extensions: [[0, serverNames([ALLOWED], 1)]] }],
    ['an extension that is too short', { extensions: [[0, Buffer.from([0])]] }],
    [
      'an extension that is too long',
      { extensions: [[0, Buffer.concat([serverNames([ALLOWED]), Buffer.from('evil.test')])]] },
    ],
    ['a list that is longer than its extension', { extensions: [[0, Buffer.from([0, 255, 0, 0, 1, 97])]] }],
    ['an encrypted hello', { names: [ALLOWED], extensions: [[0xfe0d, Buffer.alloc(200, 1)]] }],
    [
      'an encrypted name of the old draft',
      { names: [ALLOWED], extensions: [[0xffce, Buffer.alloc(200, 1)]] },
    ],
    ['another name in records of one byte', { names: ['evil.test'], recordBytes: 1 }],
    ['another name cut in its middle', { names: ['evil.test'], recordBytes: 92 }],
    ['a hello of more than 32 KiB', { names: [ALLOWED], extensions: [[21, Buffer.alloc(40_000)]] }],
  ];
  const tampered: [string, Buffer][] = [
    ['a handshake that is no hello', change(clientHello({ names: [ALLOWED] }), 5, 2)],
    [
      'an alert first',
      Buffer.concat([Buffer.from([21, 3, 1, 0, 2, 1, 0]), clientHello({ names: [ALLOWED] })]),
    ],
    [
      'an empty record first',
      Buffer.concat([Buffer.from([22, 3, 1, 0, 0]), clientHello({ names: ['evil.test'] })]),
    ],
    ['a record of an impossible length', change(clientHello({ names: [ALLOWED] }), 3, 255)],
    [
      'a hello within SSL 2',
      Buffer.from([0x80, 0x2e, 1, 3, 1, 0, 0x15, 0, 0, 0, 0x10, ...Buffer.alloc(37, 1)]),
    ],
    ['a second message in the record of the hello', twoInOneRecord()],
    ['only half of a hello', clientHello({ names: [ALLOWED] }).subarray(0, 60)],
    ['only one byte of a hello', Buffer.from([22])],
  ];
  return [
    ...hellos.map(([what, parts]) =>
      inTunnel(`a TLS hello with ${what}`, `${ALLOWED}:443`, clientHello(parts)),
    ),
    ...hellos
      .filter(([, { names }]) => names?.[0] === 'evil.test')
      .map(([what, parts]) =>
        inTunnel(`a TLS hello with ${what}, on a port of its own`, 'c.test:8080', clientHello(parts)),
      ),
    ...tampered.map(([what, bytes]) => inTunnel(what, `${ALLOWED}:443`, bytes)),
    {
      what: 'a TLS hello with another name, sent with the CONNECT',
      opens: true,
      send: [
        request(`CONNECT ${ALLOWED}:443`, [`Host: ${ALLOWED}`]) +
          latin1(clientHello({ names: ['evil.test'] })),
      ],
    },
  ];
}

function otherThanTls(): Bypass[] {
  const spoken: [string, string][] = [
    ['plain HTTP', request('GET /', ['Host: evil.test'])],
    ['plain HTTP for the same host', request('GET /', [`Host: ${ALLOWED}`])],
    ['SSH', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['another CONNECT', request('CONNECT evil.test:443', ['Host: evil.test:443'])],
    ['zeroes', '\0'.repeat(100)],
    ['a byte that is nearly TLS', '\x16\x02\x00\x00\x05hello'],
  ];
  return spoken.map(([what, text]) =>
    inTunnel(`${what} in a tunnel for TLS`, `${ALLOWED}:443`, Buffer.from(text, 'latin1')),
  );
}

function plainTunnels(): Bypass[] {
  const spoken: [string, string][] = [
    ['another Host', request('GET /', ['Host: evil.test'])],
    ['no Host', request('GET /', [])],
    ['two Hosts', request('GET /', [`Host: ${ALLOWED}`, 'Host: evil.test'])],
    ['another port in its Host', request('GET /', [`Host: ${ALLOWED}:8080`])],
    ['a whole URL', request('GET http://evil.test/', ['Host: evil.test'])],
    ['a whole URL of the same host', request(`GET http://${ALLOWED}/`, [`Host: ${ALLOWED}`])],
    ['another CONNECT', request('CONNECT evil.test:443', ['Host: evil.test:443'])],
    ['an upgrade', request('GET /', [`Host: ${ALLOWED}`, 'Connection: upgrade', 'Upgrade: websocket'])],
    [
      'a length and chunks',
      request('POST /', [`Host: ${ALLOWED}`, 'Content-Length: 5', 'Transfer-Encoding: chunked']),
    ],
    ['TLS', latin1(clientHello({ names: [ALLOWED] }))],
    ['SSH', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ];
  return spoken.map(([what, text]) =>
    inTunnel(`${what} in a tunnel for HTTP`, `${ALLOWED}:80`, Buffer.from(text, 'latin1')),
  );
}

/** For a tunnel, and for a plain request. */
function both(what: string, host: string): Bypass[] {
  return [connect(what, `${host}:443`), get(what, `http://${host}/`, host)];
}

function connect(what: string, target: string): Bypass {
  return { what: `CONNECT to ${what}`, send: [request(`CONNECT ${target}`, [`Host: ${target}`])] };
}

function get(what: string, url: string, host: string): Bypass {
  return { what: `GET from ${what}`, send: [request(`GET ${url}`, [`Host: ${host}`])] };
}

function inTunnel(what: string, target: string, bytes: Buffer): Bypass {
  return { what, send: [request(`CONNECT ${target}`, [`Host: ${target}`]), latin1(bytes)], opens: true };
}

function request(line: string, headers: readonly string[], version = 'HTTP/1.1'): string {
  return `${[`${line} ${version}`, ...headers].join('\r\n')}\r\n\r\n`;
}

function latin1(bytes: Buffer): string {
  return bytes.toString('latin1');
}

/** The bytes of a text in UTF-8, as Latin-1. */
function utf8(text: string): string {
  return latin1(Buffer.from(text));
}

function change(bytes: Buffer, at: number, value: number): Buffer {
  bytes[at] = value;
  return bytes;
}

function twoInOneRecord(): Buffer {
  const message = clientHello({ names: [ALLOWED] }).subarray(5);
  return Buffer.concat([Buffer.from([22, 3, 1]), sized(2, Buffer.concat([message, message]))]);
}
