/**
 * Closed-loop load over gRPC: each of `clients` callers starts its next call when the previous one has ended. Callers
 * share a few connections, like the connections of a client pool.
 */
import { Http2Connection } from './http2-connection.ts';
import { Latencies } from './latencies.ts';

export interface Load {
  readonly address: { readonly host: string; readonly port: number };
  readonly headers: Buffer;
  readonly clients: number;
  /** Time after which callers start no call. */
  readonly seconds: number;
  /** Maximum number of calls; replaces `seconds`. */
  readonly calls?: number;
  /** The next request of a caller, one length-prefixed message. */
  request(caller: number): Buffer;
  /** Replaces `headers` and `request` for calls of several kinds. */
  draw?(): DrawnCall;
}

/** The next call of a load of several kinds. */
export interface DrawnCall {
  readonly headers: Buffer;
  readonly request: Buffer;
  /** Receives the latency of this call, in addition to the latencies of all calls. */
  readonly latencies: Latencies;
}

export interface LoadResult {
  readonly calls: number;
  readonly failed: number;
  readonly seconds: number;
  readonly latencies: Latencies;
}

export async function closedLoop(load: Load): Promise<LoadResult> {
  const connections = await Http2Connection.pool(load.address, load.clients);
  const latencies = new Latencies();
  const total = { failed: 0 };
  const start = performance.now();
  const deadline = start + load.seconds * 1000;
  let started = 0;
  const isOver = (now: number): boolean => (load.calls === undefined ? now >= deadline : started >= load.calls);
  const caller = (connection: Http2Connection, index: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const next = (): void => {
        const began = performance.now();
        if (isOver(began)) {
          resolve();
          return;
        }
        if (!connection.isOpen) {
          reject(new Error(`the server closed a connection after ${latencies.count} calls`));
          return;
        }
        started += 1;
        const drawn = load.draw?.();
        connection.call(drawn?.headers ?? load.headers, drawn?.request ?? load.request(index), {
          onEnd: (result) => {
            const took = performance.now() - began;
            latencies.add(took);
            drawn?.latencies.add(took);
            if (!result.ok) total.failed += 1;
            next();
          },
        });
      };
      next();
    });
  const callers: Promise<void>[] = [];
  for (let i = 0; i < load.clients; i++) {
    const connection = connections[i % connections.length];
    if (connection !== undefined) callers.push(caller(connection, i));
  }
  try {
    await Promise.all(callers);
  } finally {
    for (const connection of connections) connection.close();
  }
  return { calls: latencies.count, ...total, seconds: (performance.now() - start) / 1000, latencies };
}
