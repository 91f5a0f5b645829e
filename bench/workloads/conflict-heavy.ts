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
import { type Arena, contenderOf, type Peer } from '../arena.ts';
import type { Build, CairnNode } from '../peers/cairn.ts';
import { CairnAccounts } from '../peers/cairn-accounts.ts';
import type { Etcd } from '../peers/etcd.ts';
import { EtcdAccounts } from '../peers/etcd-accounts.ts';
import type { Postgres } from '../peers/postgres.ts';
import { type AccountLocking, postgresAccounts } from '../peers/postgres-accounts.ts';
import { contendedLoop, type Retrying } from '../support/contended-loop.ts';
import { seeded, uniform, zipf } from '../support/draws.ts';
import { measuredRun } from '../support/measured.ts';
import type { Contender, Sample, Turns, Workload } from '../support/sample.ts';

const ACCOUNTS = 100_000;
const EXPONENT = 1.5;
const CLIENTS = 64;
const EVENT_BYTES = 256;
const ZIPF = `Zipf ${EXPONENT}`;
const DRAWS = { [ZIPF]: () => zipf(ACCOUNTS, EXPONENT), uniform: () => uniform(ACCOUNTS, seeded()) };

export function conflictWorkload(arena: Arena): Workload {
  return conflicts([
    ...byClient(arena.node, openCairn),
    ...arena.etcds.flatMap((peer) => byClient(peer, openEtcd)),
    ...arena.postgreses.flatMap(postgres),
  ]);
}

/** The same workload for several builds of Cairn. */
export function conflictOfBuilds(
  arena: Arena,
  builds: readonly { readonly name: string; readonly build: Build }[],
): Workload {
  const nodes = builds.map(({ name, build }) => ({
    name,
    directory: arena.at(name),
    server: () => arena.cairn(name, build),
  }));
  return conflicts(nodes.flatMap((node) => byClient(node, openCairn)));
}

function conflicts(contenders: readonly Contender[]): Workload {
  return {
    name: 'conflict-heavy',
    what: `Read the last event of an account, append the next one unless another came, until it is committed; ${ACCOUNTS} accounts.`,
    unit: 'commits',
    clients: CLIENTS,
    eventBytes: EVENT_BYTES,
    contenders,
  };
}

/** Totals over all runs, including the warm-up. */
interface Totals {
  operations: number;
  seconds: number;
  refused: number;
}

/** The share of commits that contention costs, compared with the same server without contention. */
function lost({ operations, seconds, refused }: Totals, calm: Totals): string {
  const share = 1 - operations / seconds / (calm.operations / calm.seconds);
  const attempts = refused === 0 ? '' : `; ${(refused / operations).toFixed(1)} refused attempts a commit`;
  return `contention costs ${(share * 100).toFixed(0)} % of the commits${attempts}`;
}

/** The accounts of a server, for the client that Cairn and etcd share. */
interface Accounts {
  readonly attempt: CairnAccounts['attempt'];
  check(committed: ReadonlyMap<number, number>): Promise<void>;
}

function openCairn(node: CairnNode, name: string): Promise<Accounts> {
  return CairnAccounts.open(node, name, ACCOUNTS);
}

function openEtcd(etcd: Etcd, name: string): Promise<Accounts> {
  return EtcdAccounts.open(etcd, name, { count: ACCOUNTS, eventBytes: EVENT_BYTES });
}

function byClient<Server extends Pick<Etcd, 'pid' | 'address'>>(
  peer: Peer<Server>,
  open: (server: Server, name: string) => Promise<Accounts>,
): readonly Contender[] {
  const loads: readonly (readonly [draw: keyof typeof DRAWS, retrying: Retrying])[] = [
    [ZIPF, 'backing off'],
    [ZIPF, 'at once'],
    ['uniform', 'backing off'],
  ];
  const calm = { operations: 0, seconds: 0, refused: 0 };
  return loads.map(([draw, retrying], at) => {
    const isContended = draw === ZIPF;
    const totals = isContended ? { operations: 0, seconds: 0, refused: 0 } : calm;
    const turns = async (server: Server): Promise<Turns> => {
      const accounts = await open(server, `conflict-${at}`);
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
      return isContended ? { run, note: () => lost(totals, calm) } : { run };
    };
    return contenderOf(peer, turns, `, ${draw}${isContended ? `, ${retrying}` : ''}`);
  });
}

function postgres(peer: Peer<Postgres>): readonly Contender[] {
  const zipfian = `random_zipfian(1, ${ACCOUNTS}, ${EXPONENT}) - 1`;
  const loads: readonly (readonly [what: string, draw: string, locking: AccountLocking])[] = [
    [`${ZIPF}, row locks`, zipfian, 'locked'],
    [`${ZIPF}, at once`, zipfian, 'optimistic'],
    ['uniform, row locks', `random(0, ${ACCOUNTS - 1})`, 'locked'],
  ];
  const calm = { operations: 0, seconds: 0, refused: 0 };
  return loads.map(([what, draw, locking], at) => {
    const isContended = what.startsWith(ZIPF);
    const totals = isContended ? { operations: 0, seconds: 0, refused: 0 } : calm;
    const turns = async (server: Postgres): Promise<Turns> => {
      const shape = { table: `conflict_${at}`, count: ACCOUNTS, clients: CLIENTS, eventBytes: EVENT_BYTES };
      const load = await postgresAccounts(server, { ...shape, draw, locking });
      const run = async (seconds: number): Promise<Sample> => counted(totals, await load(seconds));
      return isContended ? { run, note: () => lost(totals, calm) } : { run };
    };
    return contenderOf(peer, turns, `, ${what}`);
  });
}

function counted(totals: Totals, sample: Sample): Sample {
  totals.operations += sample.operations;
  totals.seconds += sample.seconds;
  return sample;
}
