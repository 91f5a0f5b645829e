/**
 * Open-loop load over gRPC: calls are due at even intervals, independent of earlier calls, and latencies count from the
 * time when a call was due. They therefore include the delay by a stall. Calls take the connections in turn.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Load, LoadResult } from './closed-loop.ts';
import { Http2Connection } from './http2-connection.ts';
import { Latencies } from './latencies.ts';

export interface OpenLoad extends Load {
  /** Calls per second. */
  readonly rate: number;
  /** Receives the time when each call was due, before it is sent. */
  onCall?(dueMs: number): void;
}

export interface OpenLoadResult extends LoadResult {
  /** Delay of the sending of calls, in milliseconds: timers of Node.js have a resolution of a millisecond. */
  readonly late: Latencies;
}

const TICK_MS = 1;
/** With as many unanswered calls on a connection, or as many as the server allows, the next ones wait. */
const UNANSWERED_MAX = 500;

export async function openLoop(load: OpenLoad): Promise<OpenLoadResult> {
  const connections = await Http2Connection.pool(load.address, load.clients);
  const [latencies, late] = [new Latencies(), new Latencies()];
  const calls = Math.max(1, Math.floor(load.rate * load.seconds));
  const start = performance.now();
  let [sent, failed] = [0, 0];
  const { promise: ended, resolve: end } = Promise.withResolvers<undefined>();
  const call = (due: number): void => {
    late.add(performance.now() - due);
    load.onCall?.(due);
    connections[sent % connections.length]?.call(load.headers, load.request(sent), {
      onEnd: ({ ok }) => {
        latencies.add(performance.now() - due);
        if (!ok) failed += 1;
        if (latencies.count === calls) end(undefined);
      },
    });
    sent += 1;
  };
  const dueOf = (index: number): number => start + (index * 1000) / load.rate;
  for (let i = 0; i < calls; i++) {
    const due = dueOf(i);
    const next = connections[sent % connections.length];
    while (performance.now() < due || next?.hasRoom(UNANSWERED_MAX) === false) await delay(TICK_MS);
    call(due);
  }
  await ended;
  const seconds = (performance.now() - start) / 1000;
  for (const connection of connections) connection.close();
  return { calls: latencies.count, failed, seconds, latencies, late };
}
