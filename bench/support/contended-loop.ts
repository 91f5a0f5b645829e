/**
 * Callers that contend for accounts: each draws one, reads its last event and appends the next one on condition that
 * nothing came in between; who loses reads again, until it has committed.
 *
 * When a loser reads again is the client's affair and the same for every server:
 *
 *   at once      it reads as soon as it is refused. All losers do, so whoever could commit next waits for them.
 *   backing off  it waits first, for a random time of up to 2 ms, doubled with each defeat, of up to 256 ms at last.
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
  /** Reads the account and appends its next event; whether that was committed. */
  readonly attempt: (connection: Http2Connection, account: number) => Promise<boolean>;
}

export interface Contended extends LoadResult {
  readonly refused: number;
  /** Commits by account. */
  readonly committed: ReadonlyMap<number, number>;
}

const CALLERS_PER_CONNECTION = 32;
const FIRST_WAIT_MS = 2;
const WAIT_MS_MAX = 256;

export async function contendedLoop(load: Contention): Promise<Contended> {
  const { address, callers, seconds, draw, attempt } = load;
  const connections = await Promise.all(
    Array.from({ length: Math.ceil(callers / CALLERS_PER_CONNECTION) }, () => Http2Connection.open(address)),
  );
  const [latencies, committed, random] = [new Latencies(), new Map<number, number>(), seeded()];
  let refused = 0;
  const start = performance.now();
  const isOver = (): boolean => performance.now() >= start + seconds * 1000;
  /** After so many defeats. */
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
