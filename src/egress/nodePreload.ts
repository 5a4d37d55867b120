/**
 * What makes Node go through the proxy where it does not by itself: a script of CommonJS, given `require` and
 * `proxyPort`. It replaces what opens the connections of `http`, `https` and `fetch` with what opens tunnels; the proxy
 * reads those of plain HTTP too. Programs that bring their own agents and dispatchers keep them.
 */
export const NODE_PRELOAD = String.raw`
const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const tls = require('node:tls');

function isInside(host) {
  if (net.isIPv4(host)) return host.startsWith('127.');
  return /^(\[?::1\]?|(.+\.)?localhost)$/i.test(host);
}

function openTunnel(host, port, done) {
  const target = (net.isIPv6(host) ? '[' + host + ']' : host) + ':' + port;
  const request = http.request({
    host: '127.0.0.1',
    port: proxyPort,
    agent: false,
    method: 'CONNECT',
    path: target,
    headers: { Host: target },
  });
  request.once('error', done);
  request.once('connect', (response, socket, head) => {
    if (response.statusCode === 200) {
      if (head.length > 0) socket.unshift(head);
      done(null, socket);
      return;
    }
    socket.destroy();
    const reason = response.headers['x-glovebox-reason'] ?? 'The proxy answered with ' + response.statusCode + '.';
    const error = Object.assign(new Error(reason), { code: 'ERR_PROXY_REFUSED' });
    // Where it was made tells nobody anything.
    error.stack = String(error);
    done(error);
  });
  request.end();
}

// For http and https: all agents that do not open their connections themselves.
function throughTunnels(prototype, defaultPort, upgrade) {
  const original = prototype.createConnection;
  prototype.createConnection = function createConnection(...given) {
    const [options, done] = given;
    const ours = typeof options === 'object' && options !== null && typeof done === 'function';
    if (!ours || options.socketPath || options.path || isInside(options.host ?? 'localhost')) {
      return original.apply(this, given);
    }
    openTunnel(options.host, options.port ?? defaultPort, (error, socket) => {
      if (error) done(error);
      else done(null, upgrade ? original.call(this, { ...options, socket }) : socket);
    });
  };
}
throughTunnels(http.Agent.prototype, 80, false);
throughTunnels(https.Agent.prototype, 443, true);

// For fetch, whose library is loaded with its first use and puts its dispatcher into this place.
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');

function connectForFetch({ hostname, protocol, port, servername }, done) {
  const secure = protocol === 'https:';
  const target = { host: hostname, port: Number(port) || (secure ? 443 : 80) };
  const name = servername || hostname;
  const begin = (socket) => {
    if (!secure) return socket;
    return tls.connect({
      ...(socket ? { socket } : target),
      ...(net.isIP(name) ? {} : { servername: name }),
      ALPNProtocols: ['http/1.1'],
    });
  };
  const finish = (socket, event) => {
    socket.once('error', done);
    socket.once(event, () => {
      socket.off('error', done);
      done(null, socket);
    });
  };
  if (isInside(hostname)) {
    if (secure) finish(begin(), 'secureConnect');
    else finish(net.connect(target), 'connect');
    return;
  }
  openTunnel(target.host, target.port, (error, socket) => {
    if (error) done(error, null);
    else if (secure) finish(begin(socket), 'secureConnect');
    else done(null, socket);
  });
}

let prepared = false;
function prepareFetch() {
  if (prepared) return;
  prepared = true;
  // Loads the library.
  void globalThis.Headers;
  const Agent = globalThis[DISPATCHER]?.constructor;
  // Any other one was chosen by the program.
  if (Agent?.name === 'Agent') globalThis[DISPATCHER] = new Agent({ connect: connectForFetch });
}

const originalFetch = globalThis.fetch;
if (typeof originalFetch === 'function') {
  Object.defineProperty(globalThis, 'fetch', {
    ...Object.getOwnPropertyDescriptor(globalThis, 'fetch'),
    value: function fetch(input, init = undefined) {
      prepareFetch();
      return originalFetch(input, init);
    },
  });
}
for (const name of ['WebSocket', 'EventSource']) {
  const described = Object.getOwnPropertyDescriptor(globalThis, name);
  if (described?.get === undefined || !described.configurable) continue;
  Object.defineProperty(globalThis, name, {
    ...described,
    get() {
      prepareFetch();
      return described.get.call(globalThis);
    },
  });
}
`;
