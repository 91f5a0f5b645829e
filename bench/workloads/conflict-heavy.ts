/**
 * Contention: callers draw an account, read its last event and append the next one on condition that nothing came in
 * between; who loses reads again, until it has committed. Accounts are drawn by Zipf 1.5 among 100,000, so that 80 % of
 * what is wanted falls on fourteen of them, and beside that uniformly, where hardly anything meets. What the Zipf
 * contender commits less is what contention costs.
 *
 * Each event holds the number that follows on the one that was read. After each run everything new is read back: an
 * account whose numbers have a gap or a repetition has a wrong commit, and an acknowledged one that is missing is lost.
 */
import type { Arena } from '../arena.ts';
import { appendRequests, type CairnNode, createDatabase, QUERY_EVENTS, SCAN_LOG, TRANSACT } from '../peers/cairn.ts';
import { measuredPgbench, postgresBin, psql } from '../peers/postgres.ts';
import { closedLoop, type LoadResult } from '../support/closed-loop.ts';
import { seeded, uniform, zipf } from '../support/draws.ts';
import { grpcHeaders, grpcMessage, Http2Connection } from '../support/http2-connection.ts';
import { Latencies } from '../support/latencies.ts';
import { measuredRun } from '../support/measured.ts';
import { bytesField, fieldsOf, message, varintField } from '../support/protobuf.ts';
import type { Contender, Sample, Workload } from '../support/sample.ts';
import { messagesOf } from '../support/unary.ts';

const ACCOUNTS = 100_000;
const EXPONENT = 1.5;
const CLIENTS = 64;
const CALLERS_PER_CONNECTION = 32;
const PER_TRANSACTION = 100;
const EVENT_BYTES = 256;
const DURABLE = 'fdatasync before the answer';
const [SUBJECT, DATA, REVISION] = [5, 7, 13];

export async function conflictWorkload(arena: Arena): Promise<Workload> {
  const own = await cairn(arena);
  return {
    name: 'conflict-heavy',
    what: `Read the last event of an account, append the next one unless another came, until it is committed; ${ACCOUNTS} accounts.`,
    unit: 'commits',
    clients: CLIENTS,
    eventBytes: EVENT_BYTES,
    contenders: [...own, ...(await postgres(arena))],
    notes: () => [...own.map((each) => each.told()), lostTo(own)],
  };
}

interface Checked extends Contender {
  told(): string;
  /** Commits a second in all runs, the warm-up among them. */
  rate(): number;
}

function lostTo([contended, uncontended]: readonly Checked[]): string {
  const lost = 1 - (contended?.rate() ?? 0) / (uncontended?.rate() ?? 0);
  return `Of the commits without contention, contention costs ${(lost * 100).toFixed(0)} %.`;
}

async function cairn(arena: Arena): Promise<readonly Checked[]> {
  const node = await arena.cairn();
  const draws = [
    { what: `Zipf ${EXPONENT}`, database: 'conflict-zipf', draw: zipf(ACCOUNTS, EXPONENT) },
    { what: 'uniform', database: 'conflict-uniform', draw: uniform(ACCOUNTS, seeded()) },
  ];
  const made: Checked[] = [];
  for (const { what, database, draw } of draws) {
    const accounts = await Accounts.open(node, database);
    const totals = { committed: 0, refused: 0, seconds: 0 };
    const run = async (seconds: number): Promise<Sample> => {
      const attempt = { refused: 0, committed: new Map<number, number>() };
      const sample = await measuredRun({ pids: [node.pid], eventsPerCall: 1 }, () =>
        accounts.load({ draw, seconds, attempt }),
      );
      await accounts.check(attempt.committed);
      totals.refused += attempt.refused;
      totals.committed += sample.operations;
      totals.seconds += sample.seconds;
      return sample;
    };
    const peer = `cairn, ${what}`;
    const told = (): string =>
      `${peer}: ${totals.committed} commits in all, each read back and right, ${totals.refused} attempts refused before them.`;
    made.push({ peer, durability: DURABLE, run, told, rate: () => totals.committed / totals.seconds });
  }
  return made;
}

interface Attempt {
  refused: number;
  /** Commits by account. */
  readonly committed: Map<number, number>;
}

/** The accounts of one database, and what they held when they were last checked. */
class Accounts {
  readonly #node: CairnNode;
  readonly #database: string;
  readonly #checked = new Int32Array(ACCOUNTS);
  #nextRevision = 1;
  #events = 0;

  private constructor(node: CairnNode, database: string) {
    this.#node = node;
    this.#database = database;
  }

  /** Each account has one event, of the number 0. */
  static async open(node: CairnNode, database: string): Promise<Accounts> {
    await createDatabase(node, database);
    const shape = { database, events: PER_TRANSACTION, eventBytes: EVENT_BYTES, conditional: false };
    const template = appendRequests(shape, 0);
    const load = { address: node.address, headers: grpcHeaders(TRANSACT), clients: 16, seconds: 0 };
    const calls = ACCOUNTS / PER_TRANSACTION;
    const { failed } = await closedLoop({ ...load, calls, request: () => template.next() });
    if (failed > 0) throw new Error(`${failed} transactions failed while the accounts were made`);
    const accounts = new Accounts(node, database);
    accounts.#nextRevision = calls + 1;
    return accounts;
  }

  async load(load: {
    readonly draw: () => number;
    readonly seconds: number;
    readonly attempt: Attempt;
  }): Promise<LoadResult> {
    const { address } = this.#node;
    const connections = await Promise.all(
      Array.from({ length: Math.ceil(CLIENTS / CALLERS_PER_CONNECTION) }, () => Http2Connection.open(address)),
    );
    const latencies = new Latencies();
    const start = performance.now();
    const isOver = (): boolean => performance.now() >= start + load.seconds * 1000;
    const caller = async (connection: Http2Connection): Promise<void> => {
      while (!isOver()) {
        const [account, began] = [load.draw(), performance.now()];
        let isCommitted = false;
        while (!isCommitted && !isOver()) {
          isCommitted = await this.#next(connection, account);
          if (!isCommitted) load.attempt.refused += 1;
        }
        if (!isCommitted) return;
        latencies.add(performance.now() - began);
        load.attempt.committed.set(account, (load.attempt.committed.get(account) ?? 0) + 1);
      }
    };
    const callers = Array.from({ length: CLIENTS }, (_, i) => connections[i % connections.length]);
    await Promise.all(callers.flatMap((connection) => (connection === undefined ? [] : [caller(connection)])));
    const seconds = (performance.now() - start) / 1000;
    for (const connection of connections) connection.close();
    return { calls: latencies.count, failed: 0, seconds, latencies };
  }

  /** Reads back what is new: its numbers follow on one another, and it is what was acknowledged. */
  async check(committed: ReadonlyMap<number, number>): Promise<void> {
    const connection = await Http2Connection.open(this.#node.address);
    const request = grpcMessage(message(bytesField(1, this.#database), varintField(2, this.#nextRevision)));
    const wanted = [...committed.values()].reduce((total, count) => total + count, 0);
    const events = wanted === 0 ? [] : await messagesOf(connection, grpcHeaders(SCAN_LOG), request);
    connection.close();
    const found = new Map<number, number>();
    for (const event of events) {
      const { account, number } = accountEvent(event);
      const before = this.#checked[account] ?? 0;
      if (number !== before + 1) throw new Error(`wrong commit: account ${account} has ${number} after ${before}`);
      this.#checked[account] = number;
      found.set(account, (found.get(account) ?? 0) + 1);
    }
    for (const [account, count] of committed) {
      const stored = found.get(account) ?? 0;
      if (stored !== count) throw new Error(`account ${account} has ${stored} new events; ${count} were acknowledged`);
    }
    if (events.length !== wanted) throw new Error(`${events.length} events are new; ${wanted} were acknowledged`);
    this.#nextRevision += events.length;
  }

  /** Whether the account's next event was committed. */
  async #next(connection: Http2Connection, account: number): Promise<boolean> {
    const selector = bytesField(3, subjectOf(account));
    // The last one: in reverse, at most one.
    const query = message(bytesField(1, bytesField(1, selector)), varintField(4, 1), varintField(5, 1));
    const read = grpcMessage(message(bytesField(1, this.#database), bytesField(2, query)));
    const [event] = await messagesOf(connection, QUERY_HEADERS, read);
    if (event === undefined) throw new Error(`account ${account} could not be read`);
    const { number, revision } = accountEvent(event);
    this.#events += 1;
    const next = message(
      bytesField(1, `${this.#database}-${this.#events}`),
      bytesField(2, '1.0'),
      bytesField(3, 'com.example.account.moved'),
      bytesField(4, 'https://example.com/streams/accounts'),
      bytesField(5, subjectOf(account)),
      bytesField(7, `{"n":${number + 1},"note":"${'x'.repeat(100)}"}`),
    );
    const unchanged = bytesField(2, message(varintField(1, revision), bytesField(2, selector)));
    const transaction = message(bytesField(1, next), bytesField(2, unchanged));
    const write = grpcMessage(message(bytesField(1, this.#database), bytesField(2, transaction)));
    return (await messagesOf(connection, TRANSACT_HEADERS, write)).length > 0;
  }
}

const QUERY_HEADERS = grpcHeaders(QUERY_EVENTS);
const TRANSACT_HEADERS = grpcHeaders(TRANSACT);

function subjectOf(account: number): string {
  return `subject-${String(account).padStart(12, '0')}`;
}

function accountEvent(event: Buffer): { readonly account: number; readonly number: number; readonly revision: number } {
  const fields = fieldsOf(event);
  const account = Number(String(fields.get(SUBJECT)).slice('subject-'.length));
  // An account's first event has no number.
  const number = Number(/^\{"n":(\d+)/.exec(String(fields.get(DATA)))?.[1] ?? 0);
  return { account, number, revision: Number(fields.get(REVISION)) };
}

/** Accounts are rows that are locked from being read to the commit, as a user of PostgreSQL would. */
async function postgres(arena: Arena): Promise<readonly Contender[]> {
  const [server, bin] = [await arena.postgres(), postgresBin()];
  if (server === undefined || bin === undefined) return [];
  const draws = [
    { what: `Zipf ${EXPONENT}`, table: 'conflict_zipf', draw: `random_zipfian(1, ${ACCOUNTS}, ${EXPONENT}) - 1` },
    { what: 'uniform', table: 'conflict_uniform', draw: `random(0, ${ACCOUNTS - 1})` },
  ];
  return draws.map(({ what, table, draw }) => {
    psql(
      bin,
      server,
      `CREATE TABLE ${table} AS SELECT k, 0::bigint AS n FROM generate_series(0, ${ACCOUNTS - 1}) AS k`,
    );
    psql(bin, server, `ALTER TABLE ${table} ADD PRIMARY KEY (k)`);
    psql(
      bin,
      server,
      `CREATE TABLE ${table}_events (position bigserial PRIMARY KEY, k int NOT NULL, n bigint NOT NULL, data bytea NOT NULL, UNIQUE (k, n))`,
    );
    const text = `\\set k ${draw}
BEGIN;
SELECT n + 1 AS n FROM ${table} WHERE k = :k FOR UPDATE \\gset
INSERT INTO ${table}_events (k, n, data) VALUES (:k, :n, decode(repeat('78', ${EVENT_BYTES}), 'hex'));
UPDATE ${table} SET n = :n WHERE k = :k;
END;
`;
    const load = { scripts: [{ text }], clients: CLIENTS, eventsPerCall: 1 };
    const run = async (seconds: number): Promise<Sample> => {
      const sample = measuredPgbench(bin, server, { ...load, seconds });
      const ends = `SELECT max(n) AS last, count(*) AS found FROM ${table}_events GROUP BY k`;
      const wrong = psql(bin, server, `SELECT count(*) FROM (${ends}) AS ends WHERE last <> found`);
      if (wrong !== '0') throw new Error(`PostgreSQL has ${wrong} accounts with a wrong commit`);
      return sample;
    };
    return { peer: `postgresql, ${what}`, durability: 'fsync on, synchronous_commit on', run };
  });
}
