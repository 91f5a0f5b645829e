/**
 * Measures how soon subscribers receive an event: an open loop of transactions of one event, and subscriptions of
 * everything or of one subject each. Latencies count from the time when a transaction was due to its arrival at each
 * subscriber.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Arena, contenderOf } from '../arena.ts';
import { appendRequests, type CairnNode, createDatabase, SUBSCRIBE_EVENTS, TRANSACT } from '../peers/cairn.ts';
import type { CairnCluster } from '../peers/cairn-cluster.ts';
import { UMADB_APPEND, UMADB_SUBSCRIBE, type Umadb, umadbAppends, umadbSubjects } from '../peers/umadb.ts';
import { grpcHeaders, grpcMessage, Http2Connection } from '../support/http2-connection.ts';
import { Latencies } from '../support/latencies.ts';
import { measuredRun } from '../support/measured.ts';
import { openLoop } from '../support/open-loop.ts';
import { bytesField, message, varintField } from '../support/protobuf.ts';
import type { Sample, Turns, Workload } from '../support/sample.ts';

const EVENT_BYTES = 256;
const SUBSCRIBERS = 100;
const PER_CONNECTION = 10;
const SETTLE_MS = 1_000;
/** Time for the last deliveries of a turn. */
const REST_LOOKS = 100;
const REST_LOOK_MS = 50;
const HEARTBEAT_MS = 60_000;
const WRITERS = 64;
/** Format of the ids in the events. */
const ID = /id-(\d{12})/g;
const ID_BYTES = 15;

interface Tail {
  readonly name: string;
  /** Transactions per second. */
  readonly rate: number;
  /** Each subscriber selects another subject. */
  readonly selects: boolean;
}

export function liveTailWorkloads(arena: Arena): readonly Workload[] {
  const all = { name: 'live-tail-100', rate: 100, selects: false };
  const selected = { name: 'live-tail-selected-5000', rate: 5000, selects: true };
  return [
    workload(all, [contenderOf(arena.cluster, (cluster) => onCluster(cluster, all), ', subscribers on all nodes')]),
    workload(selected, [
      contenderOf(arena.node, (node) => onNode(node, selected)),
      contenderOf(arena.cluster, (cluster) => onCluster(cluster, selected), ', subscribers on all nodes'),
      ...arena.umadbs.map((peer) => contenderOf(peer, (umadb) => onUmadb(arena, umadb, selected))),
    ]),
  ];
}

function workload({ name, rate, selects }: Tail, contenders: Workload['contenders']): Workload {
  const what = `${SUBSCRIBERS} subscribers ${selects ? 'of one subject each' : 'of all events'}, ${rate} transactions of one event a second; times are those to a delivery.`;
  return { name, what, unit: 'deliveries', clients: SUBSCRIBERS, eventBytes: EVENT_BYTES, contenders };
}

async function onNode(node: CairnNode, tail: Tail): Promise<Turns> {
  await createDatabase(node, tail.name);
  return new Deliveries(tail, { ...cairnServer(node, [node], tail), pids: [node.pid] });
}

async function onCluster(cluster: CairnCluster, tail: Tail): Promise<Turns> {
  await cluster.createDatabase(tail.name);
  const leader = cluster.node(await cluster.leaderOf(tail.name));
  const nodes = cluster.names.map((name) => cluster.node(name));
  return new Deliveries(tail, { ...cairnServer(leader, nodes, tail), pids: cluster.pids });
}

function onUmadb(arena: Arena, { pid, address }: Umadb, tail: Tail): Turns {
  const before = arena.numbers();
  const shape = { events: 1, eventBytes: EVENT_BYTES, conditional: false };
  const subjectOf = (number: number): number => before + (number % SUBSCRIBERS);
  const subscriptions = umadbSubjects(subjectOf);
  return new Deliveries(tail, {
    pids: [pid],
    address,
    append: grpcHeaders(UMADB_APPEND),
    template: umadbAppends({ ...shape, subjectOf }, 0),
    subscribe: grpcHeaders(UMADB_SUBSCRIBE),
    subscribers: [address],
    subscription: () => subscriptions.next(),
  });
}

interface Server {
  readonly pids: readonly number[];
  readonly address: CairnNode['address'];
  readonly append: Buffer;
  readonly template: { next(): Buffer };
  readonly subscribe: Buffer;
  readonly subscribers: readonly CairnNode['address'][];
  readonly subscription: (subscriber: number) => Buffer;
}

function cairnServer(leader: CairnNode, nodes: readonly CairnNode[], { name, selects }: Tail): Omit<Server, 'pids'> {
  const shape = { database: name, events: 1, eventBytes: EVENT_BYTES, conditional: false };
  const subjectOf = (number: number): number => number % SUBSCRIBERS;
  return {
    address: leader.address,
    append: grpcHeaders(TRANSACT),
    template: appendRequests({ ...shape, subjectOf }, 0),
    subscribe: grpcHeaders(SUBSCRIBE_EVENTS),
    subscribers: nodes.map(({ address }) => address),
    subscription: (subscriber) => {
      const subject = bytesField(3, `subject-${String(subscriber).padStart(12, '0')}`);
      const selection = selects ? [bytesField(2, bytesField(1, subject))] : [];
      return grpcMessage(message(bytesField(1, name), ...selection, varintField(4, HEARTBEAT_MS)));
    },
  };
}

class Deliveries implements Turns {
  readonly #tail: Tail;
  readonly #server: Server;
  readonly #acknowledged = new Latencies();
  #sent = 0;

  constructor(tail: Tail, server: Server) {
    this.#tail = tail;
    this.#server = server;
  }

  /** Subscribers first receive the events of earlier turns, which do not count. */
  async run(seconds: number): Promise<Sample> {
    const first = this.#sent;
    const due: number[] = [];
    const delivered = new Latencies();
    const connections = await this.#subscribe((number) => {
      const dueMs = due[number - first];
      if (dueMs !== undefined) delivered.add(performance.now() - dueMs);
    });
    await delay(SETTLE_MS);
    try {
      return await measuredRun({ pids: this.#server.pids, eventsPerCall: 1 }, async () => {
        const began = performance.now();
        const { failed, calls, latencies } = await this.#append(seconds, due);
        this.#acknowledged.addAll(latencies);
        const wanted = (calls - failed) * (this.#tail.selects ? 1 : SUBSCRIBERS);
        for (let left = REST_LOOKS; left > 0 && delivered.count < wanted; left--) await delay(REST_LOOK_MS);
        const missing = Math.max(0, wanted - delivered.count);
        return {
          calls: wanted + failed,
          failed: failed + missing,
          seconds: (performance.now() - began) / 1000,
          latencies: delivered,
        };
      });
    } finally {
      for (const connection of connections) connection.close();
    }
  }

  note(): string {
    const { p50, p99 } = this.#acknowledged.percentiles();
    return `acknowledged after ${p50.toFixed(2)} ms (p50), ${p99.toFixed(2)} ms (p99), including the warm-up`;
  }

  #append(seconds: number, due: number[]): ReturnType<typeof openLoop> {
    const { address, append, template } = this.#server;
    const onCall = (dueMs: number): void => {
      due.push(dueMs);
      this.#sent += 1;
    };
    const { rate } = this.#tail;
    return openLoop({
      address,
      headers: append,
      clients: WRITERS,
      seconds,
      rate,
      request: () => template.next(),
      onCall,
    });
  }

  async #subscribe(onEvent: (number: number) => void): Promise<readonly Http2Connection[]> {
    const { subscribe, subscribers, subscription } = this.#server;
    const connections: Http2Connection[] = [];
    for (let made = 0; made < SUBSCRIBERS; made += PER_CONNECTION) {
      const address = subscribers[(made / PER_CONNECTION) % subscribers.length];
      if (address === undefined) throw new Error('there is no server to subscribe at');
      const connection = await Http2Connection.open(address);
      connections.push(connection);
      for (let at = made; at < made + PER_CONNECTION; at++) {
        connection.call(subscribe, subscription(at), { onData: idReader(onEvent), onEnd: () => undefined });
      }
    }
    return connections;
  }
}

/** Finds the events in the bytes of one subscriber, regardless of their chunks. */
function idReader(onEvent: (number: number) => void): (bytes: Buffer) => void {
  let rest = '';
  return (bytes) => {
    const text = rest + bytes.toString('latin1');
    let end = 0;
    for (const match of text.matchAll(ID)) {
      onEvent(Number(match[1]));
      end = match.index + ID_BYTES;
    }
    rest = text.slice(Math.max(end, text.length - ID_BYTES + 1));
  };
}
