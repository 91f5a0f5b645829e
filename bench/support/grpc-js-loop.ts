/**
 * Closed-loop load with the grpc-js client, as a Node.js application would use it. The cost of the client is part of
 * the result.
 */
import { Client, credentials } from '@grpc/grpc-js';
import type { Load, LoadResult } from './closed-loop.ts';
import { Latencies } from './latencies.ts';

const FRAME_HEADER_BYTES = 5;
const CHANNELS = 4;

const same = (bytes: Buffer): Buffer => bytes;

export async function grpcJsLoop(load: Load & { readonly path: string }): Promise<LoadResult> {
  const address = `${load.address.host}:${load.address.port}`;
  const clients = Array.from(
    { length: Math.min(CHANNELS, load.clients) },
    () => new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 }),
  );
  const latencies = new Latencies();
  const total = { failed: 0 };
  const start = performance.now();
  const deadline = start + load.seconds * 1000;
  const call = (client: Client, at: number): Promise<void> =>
    new Promise((resolve) => {
      const began = performance.now();
      client.makeUnaryRequest(load.path, same, same, load.request(at).subarray(FRAME_HEADER_BYTES), (error) => {
        if (error !== null) total.failed += 1;
        latencies.add(performance.now() - began);
        resolve();
      });
    });
  const caller = async (client: Client, at: number): Promise<void> => {
    while (performance.now() < deadline) await call(client, at);
  };
  const callers = Array.from({ length: load.clients }, (_, i) => clients[i % clients.length]).filter(
    (c) => c !== undefined,
  );
  await Promise.all(callers.map(caller));
  const seconds = (performance.now() - start) / 1000;
  for (const client of clients) client.close();
  return { calls: latencies.count, failed: total.failed, seconds, latencies };
}
