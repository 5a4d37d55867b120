/** A way to a server that can be cut. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CuttingProxy {
  readonly url: string;
  /** Where new connections lead; nowhere, and they are cut at once. */
  target: number | undefined;
  /** Asked for each connection on which this was asked for: after how many bytes of the answer it is cut. */
  cutAfter: (request: string) => number | undefined;
  /** How often it has cut a connection. */
  readonly cuts: number;
  cutAll(): void;
  close(): Promise<void>;
}

export async function startCuttingProxy(port: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let cuts = 0;
  const proxy = createServer((client) => {
    const { target } = state;
    const upstream = target === undefined ? undefined : connect(target, '127.0.0.1');
    let left = Number.POSITIVE_INFINITY;
    const cut = (): void => {
      client.destroy();
      upstream?.destroy();
    };
    for (const socket of [client, upstream]) {
      if (socket === undefined) continue;
      sockets.add(socket);
      socket.on('error', cut).on('close', () => {
        sockets.delete(socket);
        cut();
      });
    }
    if (upstream === undefined) return cut();
    client.on('data', (bytes) => {
      const request = /^[A-Z]+ \S+/.exec(bytes.toString('latin1'))?.[0];
      if (request !== undefined) left = state.cutAfter(request) ?? Number.POSITIVE_INFINITY;
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      client.write(bytes.subarray(0, left), () => {
        if (left <= 0) cut();
      });
      left -= bytes.length;
      if (left > 0) return;
      cuts++;
      upstream.pause();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const state: CuttingProxy = {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    target: port,
    cutAfter: () => undefined,
    get cuts() {
      return cuts;
    },
    cutAll: () => {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      state.cutAll();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
  return state;
}
