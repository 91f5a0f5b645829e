/**
 * The contention workload: callers draw an account, read its last event, and append the next one under the condition
 * that no other event was appended in between. A refused caller tries again until it succeeds. Accounts are drawn from
 * 100,000, once with Zipf 1.5, where 38 % of the attempts are for one account and 80 % for fourteen, and once
 * uniformly, where hardly any attempts conflict. The lower commit rate with Zipf is the cost of contention.
 *
 * Cairn and etcd have the same client, which tries again as described in contended-loop.ts, at once or after a random
 * time. PostgreSQL locks the row, or tries again at once. After each run all accounts are checked: an incorrect commit
 * or a missing acknowledged one ends the benchmark.
 */
import type { Arena } from '../arena.ts';
import type { Build, CairnNode } from '../peers/cairn.ts';
import { CairnAccounts } from '../peers/cairn-accounts.ts';
import { EtcdAccounts } from '../peers/etcd-accounts.ts';
import { postgresBin } from '../peers/postgres.ts';
import { type AccountLocking, postgresAccounts } from '../peers/postgres-accounts.ts';
import { contendedLoop, type Retrying } from '../support/contended-loop.ts';
import { seeded, uniform, zipf } from '../support/draws.ts';
import { measuredRun } from '../support/measured.ts';
import type { Contender, Sample, Workload } from '../support/sample.ts';

const ACCOUNTS = 100_000;
const EXPONENT = 1.5;
const CLIENTS = 64;
const EVENT_BYTES = 256;
const ZIPF = `Zipf ${EXPONENT}`;
const DURABLE = 'fdatasync before the answer';
const DRAWS = { [ZIPF]: () => zipf(ACCOUNTS, EXPONENT), uniform: () => uniform(ACCOUNTS, seeded()) };

export async function conflictWorkload(arena: Arena): Promise<Workload> {
  return conflicts([await cairn(await arena.cairn(), 'cairn'), await etcd(arena), await postgres(arena)]);
}

/** The same workload for several builds of Cairn. */
export async function conflictOfBuilds(
  arena: Arena,
  builds: readonly { readonly name: string; readonly build: Build }[],
): Promise<Workload> {
  const servers: (readonly Counted[])[] = [];
  for (const { name, build } of builds) servers.push(await cairn(await arena.cairn(name, build), name));
  return conflicts(servers);
}

function conflicts(servers: readonly (readonly Counted[])[]): Workload {
  return {
    name: 'conflict-heavy',
    what: `Read the last event of an account, append the next one unless another came, until it is committed; ${ACCOUNTS} accounts.`,
    unit: 'commits',
    clients: CLIENTS,
    eventBytes: EVENT_BYTES,
    contenders: servers.flat(),
    notes: () => servers.flatMap(lostBy),
  };
}

interface Counted extends Contender {
  /** Totals over all runs, including the warm-up. */
  readonly totals: { operations: number; seconds: number; refused: number };
  readonly isContended: boolean;
}

/** Shares of commits that contention costs, compared with the same server without contention. */
function lostBy(contenders: readonly Counted[]): readonly string[] {
  const calm = contenders.find(({ isContended }) => !isContended)?.totals;
  if (calm === undefined) return [];
  return contenders
    .filter(({ isContended }) => isContended)
    .map(({ peer, totals: { operations, seconds, refused } }) => {
      const lost = 1 - operations / seconds / (calm.operations / calm.seconds);
      const attempts = refused === 0 ? '' : `; ${(refused / operations).toFixed(1)} refused attempts a commit`;
      return `${peer}: contention costs ${(lost * 100).toFixed(0)} % of the commits${attempts}.`;
    });
}

/** The accounts of a server, for the client that Cairn and etcd share. */
interface Accounts {
  readonly attempt: CairnAccounts['attempt'];
  check(committed: ReadonlyMap<number, number>): Promise<void>;
}

interface Server {
  readonly name: string;
  readonly pid: number;
  readonly address: { readonly host: string; readonly port: number };
  open(name: string): Promise<Accounts>;
}

function cairn(node: CairnNode, name: string): Promise<readonly Counted[]> {
  return byClient({ ...node, name, open: (database) => CairnAccounts.open(node, database, ACCOUNTS) });
}

async function etcd(arena: Arena): Promise<readonly Counted[]> {
  const member = await arena.etcd();
  if (member === undefined) return [];
  const shape = { count: ACCOUNTS, eventBytes: EVENT_BYTES };
  return byClient({ ...member, name: 'etcd', open: (name) => EtcdAccounts.open(member, name, shape) });
}

async function byClient(server: Server): Promise<readonly Counted[]> {
  const loads: readonly (readonly [draw: keyof typeof DRAWS, retrying: Retrying])[] = [
    [ZIPF, 'backing off'],
    [ZIPF, 'at once'],
    ['uniform', 'backing off'],
  ];
  const contenders: Counted[] = [];
  for (const [draw, retrying] of loads) {
    const isContended = draw === ZIPF;
    const accounts = await server.open(`conflict-${contenders.length}`);
    const totals = { operations: 0, seconds: 0, refused: 0 };
    const load = { address: server.address, callers: CLIENTS, retrying, draw: DRAWS[draw]?.() ?? (() => 0) };
    const run = async (seconds: number): Promise<Sample> => {
      let committed: ReadonlyMap<number, number> = new Map();
      const sample = await measuredRun({ pids: [server.pid], eventsPerCall: 1 }, async () => {
        const result = await contendedLoop({
          ...load,
          seconds,
          attempt: (connection, account) => accounts.attempt(connection, account),
        });
        ({ committed } = result);
        totals.refused += result.refused;
        return result;
      });
      await accounts.check(committed);
      return counted(totals, sample);
    };
    const peer = `${server.name}, ${draw}${isContended ? `, ${retrying}` : ''}`;
    contenders.push({ peer, durability: DURABLE, run, totals, isContended });
  }
  return contenders;
}

async function postgres(arena: Arena): Promise<readonly Counted[]> {
  const [server, bin] = [await arena.postgres(), postgresBin()];
  if (server === undefined || bin === undefined) return [];
  const zipfian = `random_zipfian(1, ${ACCOUNTS}, ${EXPONENT}) - 1`;
  const loads: readonly (readonly [what: string, draw: string, locking: AccountLocking])[] = [
    [`${ZIPF}, row locks`, zipfian, 'locked'],
    [`${ZIPF}, at once`, zipfian, 'optimistic'],
    ['uniform, row locks', `random(0, ${ACCOUNTS - 1})`, 'locked'],
  ];
  return loads.map(([what, draw, locking], at) => {
    const shape = { table: `conflict_${at}`, count: ACCOUNTS, clients: CLIENTS, eventBytes: EVENT_BYTES };
    const load = postgresAccounts(bin, server, { ...shape, draw, locking });
    const totals = { operations: 0, seconds: 0, refused: 0 };
    const run = async (seconds: number): Promise<Sample> => counted(totals, await load(seconds));
    const peer = `postgresql, ${what}`;
    const isContended = what.startsWith(ZIPF);
    return { peer, durability: 'fsync on, synchronous_commit on', run, totals, isContended };
  });
}

function counted(totals: Counted['totals'], sample: Sample): Sample {
  totals.operations += sample.operations;
  totals.seconds += sample.seconds;
  return sample;
}
