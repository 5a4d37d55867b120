import { type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { answer } from './answer.ts';
import { quoted, Refusal } from './refusal.ts';
import { forwardedHeaders, type PlainRequest, returnedHeaders } from './request.ts';

const LONGEST_HEADERS = 64 * 1024;

/**
 * Sends one request over a connection of its own and its answer back, and resolves when both are over: to why it came
 * to nothing, or to nothing.
 */
export function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  { plain, socket, idleSec }: { plain: PlainRequest; socket: Socket; idleSec: number },
): Promise<Refusal | undefined> {
  return new Promise((resolve) => {
    let failure: Refusal | undefined;
    const fail = (refusal: Refusal): void => {
      // All of the answer is on its way; what happens to the request's own rest is of no interest.
      if (response.writableEnded) return;
      failure ??= refusal;
      socket.destroy();
      // Half an answer must not look like a whole one.
      if (response.headersSent) response.destroy();
      else answer(response, refusal);
    };
    const where = `${quoted(plain.target.host.name)} on port ${plain.target.port}`;
    const bad = (): Refusal =>
      new Refusal('bad_answer', `Glovebox: ${where} did not answer with HTTP that can be passed on.`);
    const outgoing = sendRequest({
      createConnection: () => socket,
      method: incoming.method,
      path: plain.path,
      headers: forwardedHeaders(incoming, plain),
      setHost: false,
      maxHeaderSize: LONGEST_HEADERS,
    });
    socket.setTimeout(idleSec * 1000, () => {
      fail(new Refusal('timeout', `Glovebox: nothing passed between us and ${where} for ${idleSec} s.`));
    });
    outgoing.on('error', () => fail(bad()));
    // Without an error where the host answers that it speaks something else from now on.
    outgoing.on('close', () => response.headersSent || fail(bad()));
    outgoing.on('response', (answered) => {
      const headers = returnedHeaders(answered.rawHeaders);
      if (headers === undefined) return fail(bad());
      response.sendDate = false;
      if (!incoming.complete) response.shouldKeepAlive = false;
      try {
        response.writeHead(answered.statusCode ?? 502, headers);
      } catch {
        // Header values that Node reads and does not write.
        return fail(bad());
      }
      pipeline(answered, response, (error) => {
        if (error) fail(bad());
      });
    });
    response.once('close', () => {
      outgoing.destroy();
      socket.destroy();
      resolve(failure);
    });
    incoming.on('error', () => {}); // The answer is closed then as well.
    incoming.pipe(outgoing);
  });
}
