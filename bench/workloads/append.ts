/**
 * Append workloads: conditional transactions of one or many events, by one or many clients, compared with etcd, UmaDB
 * and PostgreSQL.
 */
import { type Arena, contenderOf } from '../arena.ts';
import { appendRequests, type CairnNode, createDatabase, TRANSACT } from '../peers/cairn.ts';
import { ETCD_TXN, etcdConditionalPuts } from '../peers/etcd.ts';
import { appendScript, measuredPgbench, type Postgres } from '../peers/postgres.ts';
import { UMADB_APPEND, umadbAppends } from '../peers/umadb.ts';
import { grpcJsLoop } from '../support/grpc-js-loop.ts';
import { h2load } from '../support/h2load.ts';
import { closedTurns, measuredRun } from '../support/measured.ts';
import type { RequestTemplate } from '../support/request-template.ts';
import type { Contender, Turns, Workload } from '../support/sample.ts';

/** The grpc-js client creates its own headers. */
const NO_HEADERS = Buffer.alloc(0);

export interface AppendLoad {
  readonly name: string;
  readonly what: string;
  readonly clients: number;
  readonly events: number;
  readonly eventBytes: number;
}

/** A server on one address, which may be a member of a cluster. */
interface Target {
  readonly pid: number;
  readonly address: { readonly host: string; readonly port: number };
}

/** Measures the conditional transactions of a peer. */
interface Measuring {
  readonly turns: (target: Target, path: string, template: RequestTemplate) => Turns;
  readonly postgres: (server: Postgres) => Turns;
}

/** Every peer with conditional transactions of as many events each, on the node in a new database of this name. */
export function conditionalContenders(
  arena: Arena,
  { name, events, eventBytes }: Pick<AppendLoad, 'name' | 'events' | 'eventBytes'>,
  { turns, postgres }: Measuring,
): readonly Contender[] {
  const shape = { events, eventBytes, conditional: true };
  return [
    contenderOf(arena.node, async (node) => {
      await createDatabase(node, name);
      return turns(node, TRANSACT, appendRequests({ ...shape, database: name }, arena.numbers()));
    }),
    ...arena.etcds.map((peer) =>
      contenderOf(peer, (etcd) => turns(etcd, ETCD_TXN, etcdConditionalPuts(events, eventBytes, arena.numbers()))),
    ),
    ...arena.umadbs.map((peer) =>
      contenderOf(peer, (umadb) => turns(umadb, UMADB_APPEND, umadbAppends(shape, arena.numbers()))),
    ),
    ...arena.postgreses.map((peer) => contenderOf(peer, postgres)),
  ];
}

export function appendWorkload(arena: Arena, load: AppendLoad): Workload {
  const { clients, events, eventBytes } = load;
  const scripts = [{ text: appendScript(events, eventBytes) }];
  const contenders = conditionalContenders(
    arena,
    { ...load, name: `${load.name}-conditional` },
    {
      turns: ({ pid, address }, path, template) =>
        closedTurns({ pids: [pid], eventsPerCall: events }, { address, path, clients, request: () => template.next() }),
      postgres: (server) => ({
        run: (seconds) => measuredPgbench(server, { scripts, clients, seconds, eventsPerCall: events }),
      }),
    },
  );
  return { ...load, unit: 'events', contenders };
}

/** The same load with the grpc-js client, which uses more CPU time than either server. */
export function grpcJsWorkload(arena: Arena, load: AppendLoad): Workload {
  const turns = ({ pid, address }: Target, path: string, template: { next(): Buffer }): Turns => {
    const shared = { address, headers: NO_HEADERS, clients: load.clients, path, request: () => template.next() };
    const counted = { pids: [pid], eventsPerCall: load.events };
    return { run: (seconds) => measuredRun(counted, () => grpcJsLoop({ ...shared, seconds })) };
  };
  const cairn = contenderOf(arena.node, async (node) => {
    await createDatabase(node, load.name);
    return turns(node, TRANSACT, appendRequests({ ...load, database: load.name, conditional: true }, arena.numbers()));
  });
  const etcds = arena.etcds.map((peer) =>
    contenderOf(peer, (etcd) =>
      turns(etcd, ETCD_TXN, etcdConditionalPuts(load.events, load.eventBytes, arena.numbers())),
    ),
  );
  return { ...load, unit: 'events', contenders: [cairn, ...etcds] };
}

/** Repeats one transaction; every event gets a new stored id, which is the more expensive case. */
export function h2loadWorkload(arena: Arena, load: AppendLoad): Workload {
  const open = async ({ pid, address }: CairnNode): Promise<Turns> => {
    await createDatabase(await arena.cairn(), load.name);
    const body = appendRequests({ ...load, database: load.name, conditional: false }, arena.numbers()).next();
    const url = `http://${address.host}:${address.port}${TRANSACT}`;
    const shared = { url, clients: load.clients, body, dir: arena.dir };
    return {
      run: (seconds) => measuredRun({ pids: [pid], eventsPerCall: 1 }, () => h2load({ ...shared, seconds })),
    };
  };
  return { ...load, unit: 'events', contenders: [contenderOf(arena.node, open, ', h2load')] };
}

/** The same load with and without a constraint, to measure the cost of the constraint. */
export function constraintWorkload(arena: Arena, load: AppendLoad): Workload {
  const by = (how: string, conditional: boolean): Contender =>
    contenderOf(arena.node, (node) => nodeAppend(arena, node, { ...load, conditional }), how);
  return { ...load, unit: 'events', contenders: [by(', with a constraint', true), by(', without one', false)] };
}

/** The load against one node, in a new database. */
export async function nodeAppend(
  arena: Arena,
  node: CairnNode,
  load: AppendLoad & { readonly conditional: boolean },
): Promise<Turns> {
  const database = `${load.name}-${load.conditional ? 'conditional' : 'plain'}`;
  await createDatabase(node, database);
  const template = appendRequests({ ...load, database }, arena.numbers());
  const { clients, events: eventsPerCall } = load;
  const calls = { address: node.address, path: TRANSACT, clients, request: () => template.next() };
  return closedTurns({ pids: [node.pid], eventsPerCall }, calls);
}
