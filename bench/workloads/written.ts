/**
 * Bytes that the servers send to the disk for an event: by all files together, including what they write in the
 * background after the load. A turn is a fixed number of transactions of 100 events.
 */
import { type Arena, contenderOf } from '../arena.ts';
import { appendRequests, createDatabase, TRANSACT } from '../peers/cairn.ts';
import { ETCD_TXN, type Etcd, etcdConditionalPuts } from '../peers/etcd.ts';
import { appendScript, measuredPgbench, type Postgres, psql } from '../peers/postgres.ts';
import { UMADB_APPEND, umadbAppends } from '../peers/umadb.ts';
import { fill } from '../support/measured.ts';
import { writtenBytes } from '../support/process-cpu.ts';
import type { Sample, Turns, Workload } from '../support/sample.ts';
import { settled } from './scale.ts';

const NAME = 'written';
const EVENT_BYTES = 256;
const EVENTS = 100;
const CLIENTS = 16;
/** Share of the events of a loaded database that a turn appends. */
const SHARE = 0.2;

export function writtenWorkload(arena: Arena, loaded: number): Workload {
  const transactions = Math.max(CLIENTS, (loaded * SHARE) / EVENTS);
  const shape = { events: EVENTS, eventBytes: EVENT_BYTES, conditional: true };
  const calls = ({ pid, address }: Etcd, path: string, template: { next(): Buffer }): Turns =>
    counting(pid, () =>
      fill({ pids: [pid], eventsPerCall: EVENTS }, { address, path, request: () => template.next() }, transactions),
    );
  return {
    name: NAME,
    what: `${transactions} transactions of ${EVENTS} events, and the bytes that were written for each event when the server is at rest again.`,
    unit: 'events',
    clients: CLIENTS,
    eventBytes: EVENT_BYTES,
    contenders: [
      contenderOf(arena.node, async (node) => {
        await createDatabase(node, NAME);
        return calls(node, TRANSACT, appendRequests({ ...shape, database: NAME }, arena.numbers()));
      }),
      ...arena.etcds.map((peer) =>
        contenderOf(peer, (etcd) => calls(etcd, ETCD_TXN, etcdConditionalPuts(EVENTS, EVENT_BYTES, arena.numbers()))),
      ),
      ...arena.umadbs.map((peer) =>
        contenderOf(peer, (umadb) => calls(umadb, UMADB_APPEND, umadbAppends(shape, arena.numbers()))),
      ),
      ...arena.postgreses.map((peer) => contenderOf(peer, (server) => postgres(server, transactions))),
    ],
  };
}

function postgres(server: Postgres, transactions: number): Turns {
  const scripts = [{ text: appendScript(EVENTS, EVENT_BYTES) }];
  const load = { scripts, clients: CLIENTS, seconds: 0, transactions: Math.ceil(transactions / CLIENTS) };
  return counting(server.pid, async () => {
    const sample = await measuredPgbench(server, { ...load, eventsPerCall: EVENTS });
    await psql(server, 'CHECKPOINT');
    return sample;
  });
}

/** A turn begins and ends at rest. There is no warm-up, because a rate is not the purpose. */
function counting(pid: number, load: () => Promise<Sample>): Turns {
  const run = async (): Promise<Sample> => {
    await settled({ pid });
    const before = writtenBytes(pid);
    const sample = await load();
    await settled({ pid });
    return { ...sample, writtenBytes: writtenBytes(pid) - before };
  };
  return { run };
}
