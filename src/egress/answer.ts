import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Refusal } from './refusal.ts';

/** Answers a plain request with why it is refused; the connection ends with it. */
export function answer(response: ServerResponse, refusal: Refusal): void {
  response.sendDate = false;
  response.writeHead(refusal.status, refusal.phrase, headersOf(refusal));
  response.end(bodyOf(refusal));
}

/** Answers on the bare connection, and ends it. What still comes is not looked at. */
export function answerBare(stream: Duplex, refusal: Refusal): void {
  const headers = Object.entries(headersOf(refusal)).map(([name, value]) => `${name}: ${value}\r\n`);
  stream.end(`HTTP/1.1 ${refusal.status} ${refusal.phrase}\r\n${headers.join('')}\r\n${bodyOf(refusal)}`);
  stream.resume();
}

function headersOf(refusal: Refusal): Record<string, string> {
  return {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(bodyOf(refusal))),
    // Some clients show no body of a refused CONNECT.
    'X-Glovebox-Reason': refusal.message,
    Connection: 'close',
  };
}

function bodyOf(refusal: Refusal): string {
  return `${refusal.message}\n`;
}
