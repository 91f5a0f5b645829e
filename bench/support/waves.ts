/**
 * Lock-step load over gRPC: all callers send a call at the same time, and the next one when all replies have arrived.
 */
import type { Load, LoadResult } from './closed-loop.ts';
import { Http2Connection } from './http2-connection.ts';
import { Latencies } from './latencies.ts';

export async function waves(load: Load): Promise<LoadResult> {
  const connections = await Http2Connection.pool(load.address, load.clients);
  const latencies = new Latencies();
  let failed = 0;
  const call = (connection: Http2Connection, caller: number): Promise<void> =>
    new Promise((resolve) => {
      const began = performance.now();
      connection.call(load.headers, load.request(caller), {
        onEnd: ({ ok }) => {
          latencies.add(performance.now() - began);
          if (!ok) failed += 1;
          resolve();
        },
      });
    });
  const callers = Array.from({ length: load.clients }, (_, i) => connections[i % connections.length]);
  const start = performance.now();
  const deadline = start + load.seconds * 1000;
  while (performance.now() < deadline) {
    await Promise.all(callers.flatMap((connection, at) => (connection === undefined ? [] : [call(connection, at)])));
  }
  const seconds = (performance.now() - start) / 1000;
  for (const connection of connections) connection.close();
  return { calls: latencies.count, failed, seconds, latencies };
}
