/**
 * Accounts in PostgreSQL for the contention workload, with pgbench: a table of accounts and a table of their events.
 *
 *   locked       the row is locked from the read to the commit, as users of PostgreSQL do; other clients wait
 *   optimistic   reads take no lock; pgbench repeats a transaction with a serialization failure at once
 */
import { measuredPgbench, type Postgres, psql } from '../peers/postgres.ts';
import type { Sample } from '../support/sample.ts';

export type AccountLocking = 'locked' | 'optimistic';

export interface PostgresAccounts {
  readonly table: string;
  readonly count: number;
  /** pgbench expression of the account number, from 0. */
  readonly draw: string;
  readonly locking: AccountLocking;
  readonly clients: number;
  readonly eventBytes: number;
}

/** Creates the tables. The returned function runs the load and then checks the result. */
export async function postgresAccounts(
  server: Postgres,
  { table, count, draw, locking, clients, eventBytes }: PostgresAccounts,
): Promise<(seconds: number) => Promise<Sample>> {
  for (const statement of [
    `CREATE TABLE ${table} AS SELECT k, 0::bigint AS n FROM generate_series(0, ${count - 1}) AS k`,
    `ALTER TABLE ${table} ADD PRIMARY KEY (k)`,
    `CREATE TABLE ${table}_events (position bigserial PRIMARY KEY, k int NOT NULL, n bigint NOT NULL, data bytea NOT NULL, UNIQUE (k, n))`,
  ]) {
    await psql(server, statement);
  }
  const isLocked = locking === 'locked';
  // The optimistic form updates first: inserting the same number twice would fail with an error that pgbench does not
  // retry.
  const text = `\\set k ${draw}
BEGIN${isLocked ? '' : ' ISOLATION LEVEL REPEATABLE READ'};
SELECT n + 1 AS n FROM ${table} WHERE k = :k${isLocked ? ' FOR UPDATE' : ''} \\gset
UPDATE ${table} SET n = :n WHERE k = :k;
INSERT INTO ${table}_events (k, n, data) VALUES (:k, :n, decode(repeat('78', ${eventBytes}), 'hex'));
END;
`;
  const load = { scripts: [{ text }], clients, eventsPerCall: 1, retries: !isLocked };
  return async (seconds) => {
    const sample = await measuredPgbench(server, { ...load, seconds });
    const ends = `SELECT max(n) AS last, count(*) AS found FROM ${table}_events GROUP BY k`;
    const wrong = await psql(server, `SELECT count(*) FROM (${ends}) AS ends WHERE last <> found`);
    if (wrong !== '0') throw new Error(`PostgreSQL has ${wrong} accounts with a wrong commit`);
    return sample;
  };
}
