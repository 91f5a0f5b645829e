/**
 * Append workloads: conditional transactions of one or many events, by one or many clients, compared with etcd and
 * PostgreSQL.
 */
import type { Arena } from '../arena.ts';
import { appendRequests, type CairnNode, createDatabase, TRANSACT } from '../peers/cairn.ts';
import { ETCD_TXN, etcdConditionalPuts } from '../peers/etcd.ts';
import { appendScript, measuredPgbench, postgresBin } from '../peers/postgres.ts';
import { grpcJsLoop } from '../support/grpc-js-loop.ts';
import { h2load } from '../support/h2load.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { measured, measuredRun } from '../support/measured.ts';
import type { Contender, Sample, Workload } from '../support/sample.ts';

const DURABLE = 'fdatasync before the answer';
const WARM_UP_CALLERS = 16;
/** The grpc-js client creates its own headers. */
const NO_HEADERS = Buffer.alloc(0);

export interface AppendLoad {
  readonly name: string;
  readonly what: string;
  readonly clients: number;
  readonly events: number;
  readonly eventBytes: number;
}

export async function appendWorkload(arena: Arena, load: AppendLoad): Promise<Workload> {
  const contenders: Contender[] = [await cairnAppend(arena, { ...load, conditional: true })];
  contenders.push(...(await etcdAppend(arena, load)), ...(await postgresAppend(arena, load)));
  return { ...load, unit: 'events', contenders };
}

/** The same load with the grpc-js client, which uses more CPU time than either server. */
export async function grpcJsWorkload(arena: Arena, load: AppendLoad): Promise<Workload> {
  const node = await arena.cairn();
  await createDatabase(node, load.name);
  const template = appendRequests({ ...load, database: load.name, conditional: true }, arena.numbers());
  const contenders: Contender[] = [
    {
      peer: 'cairn',
      durability: DURABLE,
      run: (seconds) => {
        const { address } = node;
        const shared = { address, headers: NO_HEADERS, clients: load.clients, seconds, path: TRANSACT };
        return measuredRun({ pids: [node.pid], eventsPerCall: 1 }, () =>
          grpcJsLoop({ ...shared, request: () => template.next() }),
        );
      },
    },
  ];
  const etcd = await arena.etcd();
  if (etcd === undefined) return { ...load, unit: 'events', contenders };
  const puts = etcdConditionalPuts(load.events, load.eventBytes, arena.numbers());
  const run: Contender['run'] = (seconds) => {
    const shared = { address: etcd.address, headers: NO_HEADERS, clients: load.clients, seconds, path: ETCD_TXN };
    return measuredRun({ pids: [etcd.pid], eventsPerCall: 1 }, () =>
      grpcJsLoop({ ...shared, request: () => puts.next() }),
    );
  };
  return { ...load, unit: 'events', contenders: [...contenders, { peer: 'etcd', durability: DURABLE, run }] };
}

/** Repeats one transaction; every event gets a new stored id, which is the more expensive case. */
export async function h2loadWorkload(arena: Arena, load: AppendLoad): Promise<Workload> {
  const node = await arena.cairn();
  await createDatabase(node, load.name);
  const body = appendRequests({ ...load, database: load.name, conditional: false }, arena.numbers()).next();
  const url = `http://${node.address.host}:${node.address.port}${TRANSACT}`;
  const run: Contender['run'] = (seconds) =>
    measuredRun({ pids: [node.pid], eventsPerCall: 1 }, () =>
      h2load({ url, clients: load.clients, seconds, body, dir: arena.dir }),
    );
  return { ...load, unit: 'events', contenders: [{ peer: 'cairn, h2load', durability: DURABLE, run }] };
}

/** The same load with and without a constraint, to measure the cost of the constraint. */
export async function constraintWorkload(arena: Arena, load: AppendLoad): Promise<Workload> {
  const conditional = await cairnAppend(arena, { ...load, conditional: true });
  const plain = await cairnAppend(arena, { ...load, conditional: false });
  return {
    ...load,
    unit: 'events',
    contenders: [
      { ...conditional, peer: 'with a constraint' },
      { ...plain, peer: 'without one' },
    ],
  };
}

async function cairnAppend(arena: Arena, load: AppendLoad & { readonly conditional: boolean }): Promise<Contender> {
  return nodeAppend(arena, await arena.cairn(), load);
}

/** The load against one node, in a new database. */
export async function nodeAppend(
  arena: Arena,
  node: CairnNode,
  load: AppendLoad & { readonly conditional: boolean },
): Promise<Contender> {
  const database = `${load.name}-${load.conditional ? 'conditional' : 'plain'}`;
  await createDatabase(node, database);
  const template = appendRequests({ ...load, database }, arena.numbers());
  const headers = grpcHeaders(TRANSACT);
  const by = (clients: number, seconds: number): Promise<Sample> =>
    measured(
      { pids: [node.pid], eventsPerCall: load.events },
      { address: node.address, headers, clients, seconds, request: () => template.next() },
    );
  return { peer: 'cairn', durability: DURABLE, ...byCallers(by, load.clients) };
}

/** Measures with the callers of the load, and warms up with at least `WARM_UP_CALLERS`. */
function byCallers(
  by: (clients: number, seconds: number) => Promise<Sample>,
  clients: number,
): Pick<Contender, 'run' | 'warmUp'> {
  return {
    run: (seconds) => by(clients, seconds),
    warmUp: (seconds) => by(Math.max(clients, WARM_UP_CALLERS), seconds),
  };
}

async function etcdAppend(arena: Arena, load: AppendLoad): Promise<readonly Contender[]> {
  const etcd = await arena.etcd();
  if (etcd === undefined) return [];
  const template = etcdConditionalPuts(load.events, load.eventBytes, arena.numbers());
  const headers = grpcHeaders(ETCD_TXN);
  const by = (clients: number, seconds: number): Promise<Sample> =>
    measured(
      { pids: [etcd.pid], eventsPerCall: load.events },
      { address: etcd.address, headers, clients, seconds, request: () => template.next() },
    );
  return [{ peer: 'etcd', durability: DURABLE, ...byCallers(by, load.clients) }];
}

async function postgresAppend(arena: Arena, load: AppendLoad): Promise<readonly Contender[]> {
  const postgres = await arena.postgres();
  const bin = postgresBin();
  if (postgres === undefined || bin === undefined) return [];
  const scripts = [{ text: appendScript(load.events, load.eventBytes) }];
  const run = async (seconds: number): ReturnType<Contender['run']> =>
    measuredPgbench(bin, postgres, { scripts, clients: load.clients, seconds, eventsPerCall: load.events });
  return [{ peer: 'postgresql, pgbench', durability: 'fsync on, synchronous_commit on', run }];
}
