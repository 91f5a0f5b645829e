/**
 * Measures how soon subscribers receive a committed event.
 *
 *   npm run build && node --conditions=source bench/live-tail.ts [--subscribers 100] [--rate 100] [--seconds 20]
 *
 * Three nodes run in separate processes on loopback, with the subscribers spread over them, ten per connection. One
 * writer sends `--rate` transactions of one event per second to the leader in an open loop. For each event and
 * subscriber it measures the time from the sending of the transaction, and from its acknowledgement; an event that
 * arrives before the acknowledgement counts as 0 in the latter.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readNumber, readOptions } from '../scripts/support/command-line.ts';
import { appendRequests, type CairnNode, SUBSCRIBE_EVENTS, TRANSACT } from './peers/cairn.ts';
import { CairnCluster } from './peers/cairn-cluster.ts';
import { grpcHeaders, grpcMessage, Http2Connection } from './support/http2-connection.ts';
import { Latencies } from './support/latencies.ts';
import { bytesField, message, varintField } from './support/protobuf.ts';

const DATABASE = 'tail';
const NODES = 3;
const EVENT_BYTES = 256;
const PER_CONNECTION = 10;
const WARM_UP_SHARE = 0.25;
const SETTLE_MS = 2_000;
/** Format of the event ids that appendRequests writes. */
const ID = /id-(\d{12})/g;
const ID_BYTES = 15;
const HEARTBEAT_MS = 60_000;

/** A transaction of one event. */
interface Sent {
  readonly sentMs: number;
  acknowledgedMs: number | undefined;
  readonly deliveredMs: number[];
}

const values = readOptions({ subscribers: '100', rate: '100', seconds: '20' });
const subscribers = readNumber('subscribers', values.subscribers, { min: 1, isWhole: true });
const rate = readNumber('rate', values.rate, { min: 1, isWhole: true });
const seconds = readNumber('seconds', values.seconds, { min: 1, isWhole: false });

const sent = new Map<number, Sent>();
const connections: Http2Connection[] = [];
const dir = mkdtempSync(join(tmpdir(), 'cairn-live-tail-'));
const cluster = await CairnCluster.start(dir, NODES);
try {
  await cluster.createDatabase(DATABASE);
  const leader = cluster.node(await cluster.leaderOf(DATABASE));
  await subscribe(cluster.names.map((name) => cluster.node(name)));
  await write(leader);
  await delay(SETTLE_MS);
  process.stdout.write(`${report()}\n`);
} finally {
  for (const connection of connections) connection.close();
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
}

async function subscribe(nodes: readonly CairnNode[]): Promise<void> {
  const request = grpcMessage(message(bytesField(1, DATABASE), varintField(4, HEARTBEAT_MS)));
  const headers = grpcHeaders(SUBSCRIBE_EVENTS);
  for (let made = 0; made < subscribers; made += PER_CONNECTION) {
    const node = nodes[(made / PER_CONNECTION) % nodes.length];
    if (node === undefined) throw new Error('there is a node');
    const connection = await Http2Connection.open(node.address);
    connections.push(connection);
    for (let at = made; at < Math.min(made + PER_CONNECTION, subscribers); at++) {
      connection.call(headers, request, { onData: reader(), onEnd: () => undefined });
    }
  }
}

/** Finds the events in the bytes of one subscriber, regardless of their chunks. */
function reader(): (bytes: Buffer) => void {
  let rest = '';
  return (bytes) => {
    const nowMs = performance.now();
    const text = rest + bytes.toString('latin1');
    let end = 0;
    for (const match of text.matchAll(ID)) {
      sent.get(Number(match[1]))?.deliveredMs.push(nowMs);
      end = match.index + ID_BYTES;
    }
    rest = text.slice(Math.max(end, text.length - ID_BYTES + 1));
  };
}

/** Resolves when every transaction is answered. */
async function write(node: CairnNode): Promise<void> {
  const shape = { database: DATABASE, events: 1, eventBytes: EVENT_BYTES, conditional: false };
  const template = appendRequests(shape, 0);
  const connection = await Http2Connection.open(node.address);
  connections.push(connection);
  const headers = grpcHeaders(TRANSACT);
  const count = Math.round(rate * seconds);
  const beganMs = performance.now();
  const answers: Promise<void>[] = [];
  for (let number = 0; number < count; number++) {
    const dueMs = beganMs + (number * 1000) / rate;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await delay(waitMs);
    const { promise, resolve } = Promise.withResolvers<void>();
    answers.push(promise);
    const each: Sent = { sentMs: performance.now(), acknowledgedMs: undefined, deliveredMs: [] };
    sent.set(number, each);
    connection.call(headers, template.next(), {
      onEnd: ({ ok }) => {
        if (ok) each.acknowledgedMs = performance.now();
        resolve();
      },
    });
  }
  await Promise.all(answers);
}

function report(): string {
  const measured = [...sent.values()].slice(Math.round(sent.size * WARM_UP_SHARE));
  const acknowledged = measured.filter((each) => each.acknowledgedMs !== undefined);
  const [answer, fromSending, fromAnswer] = [new Latencies(), new Latencies(), new Latencies()];
  for (const { sentMs, acknowledgedMs = sentMs, deliveredMs } of acknowledged) {
    answer.add(acknowledgedMs - sentMs);
    for (const each of deliveredMs) {
      fromSending.add(each - sentMs);
      fromAnswer.add(Math.max(0, each - acknowledgedMs));
    }
  }
  const row = (name: string, latencies: Latencies): string => {
    const { p50, p99, p999 } = latencies.percentiles();
    return `| ${[name, ...[p50, p99, p999].map((each) => each.toFixed(2))].join(' | ')} |`;
  };
  const expected = acknowledged.length * subscribers;
  return [
    `### live tail, ${subscribers} subscribers, ${rate} transactions of one event a second`,
    '',
    `${measured.length} transactions after a warm-up, ${measured.length - acknowledged.length} failed; ${fromSending.count} of ${expected} ` +
      `deliveries; load average ${loadavg()[0]?.toFixed(1)}.`,
    '',
    '| milliseconds | p50 | p99 | p99.9 |',
    '| --- | --- | --- | --- |',
    row('sending to acknowledgement', answer),
    row('sending to delivery', fromSending),
    row('acknowledgement to delivery', fromAnswer),
    '',
  ].join('\n');
}
