/**
 * Callers that contend for accounts. Each draws an account, reads its last event and appends the next one under the
 * condition that no other event was appended in between. A refused caller reads again until it succeeds.
 *
 * The client decides when to read again, in the same way for every server:
 *
 *   at once      immediately after the refusal. All refused callers do so, which delays the next commit.
 *   backing off  after a random time of up to 2 ms, which doubles with each refusal up to 256 ms.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { LoadResult } from './closed-loop.ts';
import { seeded } from './draws.ts';
import { Http2Connection } from './http2-connection.ts';
import { Latencies } from './latencies.ts';

export type Retrying = 'at once' | 'backing off';

export interface Contention {
  readonly address: { readonly host: string; readonly port: number };
  readonly callers: number;
  readonly seconds: number;
  readonly retrying: Retrying;
  readonly draw: () => number;
  /** Reads the account and tries to append its next event; returns whether it was committed. */
  readonly attempt: (connection: Http2Connection, account: number) => Promise<boolean>;
}

export interface Contended extends LoadResult {
  readonly refused: number;
  /** Number of commits by account. */
  readonly committed: ReadonlyMap<number, number>;
}

const FIRST_WAIT_MS = 2;
const WAIT_MS_MAX = 256;

export async function contendedLoop(load: Contention): Promise<Contended> {
  const { address, callers, seconds, draw, attempt } = load;
  const connections = await Http2Connection.pool(address, callers);
  const [latencies, committed, random] = [new Latencies(), new Map<number, number>(), seeded()];
  let refused = 0;
  const start = performance.now();
  const isOver = (): boolean => performance.now() >= start + seconds * 1000;
  /** Waits before the next attempt, after this number of refusals. */
  const untilNext = async (defeats: number): Promise<void> => {
    if (load.retrying === 'at once') return;
    await delay(random() * Math.min(FIRST_WAIT_MS * 2 ** (defeats - 1), WAIT_MS_MAX));
  };
  const caller = async (connection: Http2Connection): Promise<void> => {
    while (!isOver()) {
      const [account, began] = [draw(), performance.now()];
      for (let defeats = 1; !(await attempt(connection, account)); defeats++) {
        refused += 1;
        await untilNext(defeats);
        if (isOver()) return;
      }
      latencies.add(performance.now() - began);
      committed.set(account, (committed.get(account) ?? 0) + 1);
    }
  };
  await Promise.all(
    Array.from({ length: callers }, async (_, at) => {
      const connection = connections[at % connections.length];
      if (connection !== undefined) await caller(connection);
    }),
  );
  const lasted = (performance.now() - start) / 1000;
  for (const connection of connections) connection.close();
  return { calls: latencies.count, failed: 0, seconds: lasted, latencies, refused, committed };
}
