import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that hostile output tries to reach. */
export interface Elsewhere extends AsyncDisposable {
  readonly url: string;
  /** Connections, also those over which nothing was asked for, and paths that were asked for. */
  readonly reached: string[];
  /** What it gives under `/page`, with no policy at all. */
  page: string;
}

export async function openElsewhere(): Promise<Elsewhere> {
  const reached: string[] = [];
  const server = createServer((request, response) => {
    reached.push(request.url ?? '');
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(request.url === '/page' ? elsewhere.page : '');
  });
  server.on('connection', () => reached.push('connection'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const elsewhere: Elsewhere = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reached,
    page: '',
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return elsewhere;
}
