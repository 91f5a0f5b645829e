/**
 * Measures how much writers slow down while State Views are folded on all executors at the same time.
 *
 *   npm run build && node --conditions=source bench/busy-guests.ts [--clients 8] [--seconds 8] [--rounds 5]
 *     [--events 100000] [--settings ...]
 *
 * One node runs in another process. The writers append transactions of one event to a database without State Views.
 * Each round has three parts: writers alone; writers beside folds that compute, one on each executor, and hardly read;
 * and writers beside the same number of folds that repeatedly read `--events` events from the beginning. For each part
 * it prints the transactions per second with their latencies, the rendered states per second, and the longest and the
 * 99th percentile event-loop delay from the metrics of the node.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readNumber, readOptions } from '../scripts/support/command-line.ts';
import { countingText } from '../test/support/wasm/counting.ts';
import { viewText, wat } from '../test/support/wasm/wat.ts';
import { appendRequests, createDatabase, startCairn, THIS_BUILD, TRANSACT } from './peers/cairn.ts';
import { closedLoop, type LoadResult } from './support/closed-loop.ts';
import { grpcHeaders, grpcMessage, Http2Connection } from './support/http2-connection.ts';
import { bytesField, message } from './support/protobuf.ts';
import { messagesOf } from './support/unary.ts';

const options = readOptions({ clients: '8', seconds: '8', rounds: '5', events: '100000', settings: undefined });
const CLIENTS = readNumber('clients', options.clients, { min: 1, isWhole: true });
const SECONDS = readNumber('seconds', options.seconds, { min: 1, isWhole: false });
const ROUNDS = readNumber('rounds', options.rounds, { min: 1, isWhole: true });
const EVENTS = readNumber('events', options.events, { min: 100, isWhole: true });
const EXECUTORS = availableParallelism();
const SERVICE = '/cairn.v1.EventStore/';
/** An event costs some tenths of a second, so a fold has only a few. */
const BURNING = `
  (local $i i32)
  (loop $again (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 50000000))))
  (i32.store8 (i32.const 16) (i32.const 0)) (i32.store (i32.const 20) (i32.const 0))
  (i32.store (i32.const 24) (i32.const 0)) (i32.const 16)`;
const FEW_EVENTS = 4;
const WARM_UP_SECONDS = 5;
/** A node caches its rendered metrics for a second. */
const METRICS_KEPT_MS = 1_100;
const WAYS = ['alone', 'beside computing folds', 'beside reading folds'] as const;

interface Round {
  readonly writes: LoadResult;
  readonly renders: number;
  readonly lag: { readonly p99: number; readonly max: number };
}

const directory = mkdtempSync(join(tmpdir(), 'cairn-busy-'));
const node = await startCairn(directory, THIS_BUILD, options.settings?.split(' ') ?? []);
try {
  await run();
} finally {
  await node.stop();
  rmSync(directory, { recursive: true, force: true });
}

async function run(): Promise<void> {
  console.log(`load ${loadavg()[0]?.toFixed(2)}, ${CLIENTS} writers, ${EXECUTORS} executors, ${EVENTS} events`);
  for (const name of ['written', 'burning', 'reading']) await createDatabase(node, name);
  const append = (database: string, events: number, first: number): ReturnType<typeof appendRequests> =>
    appendRequests({ database, events, eventBytes: 200, conditional: false }, first);
  await filled(append('burning', FEW_EVENTS, 1), 1);
  await filled(append('reading', 100, 1), EVENTS / 100);
  for (let number = 0; number < EXECUTORS; number++) {
    await publish('burning', number, await wat(viewText({ evolve: BURNING })));
    await publish('reading', number, await wat(countingText({ hasBatch: true })));
  }
  const template = append('written', 1, 1);
  const write = (seconds: number): Promise<LoadResult> =>
    closedLoop({
      address: node.address,
      headers: grpcHeaders(TRANSACT),
      clients: CLIENTS,
      seconds,
      request: () => template.next(),
    });
  const round = async (folded: 'burning' | 'reading' | undefined, seconds = SECONDS): Promise<Round> => {
    await lagOf();
    const stopping = new AbortController();
    const folding =
      folded === undefined ? [] : Array.from({ length: EXECUTORS }, (_, at) => fold(folded, at, stopping.signal));
    const writes = await write(seconds);
    stopping.abort();
    const lag = await lagOf();
    const renders = (await Promise.all(folding)).reduce((sum, each) => sum + each, 0);
    return { writes, renders, lag };
  };
  await round(undefined, WARM_UP_SECONDS);
  await round('reading', WARM_UP_SECONDS);
  const seen: readonly Round[][] = WAYS.map(() => []);
  for (let at = 0; at < ROUNDS; at++) {
    seen[0]?.push(await round(undefined));
    seen[1]?.push(await round('burning'));
    seen[2]?.push(await round('reading'));
  }
  for (const [at, way] of WAYS.entries()) console.log(`${way.padEnd(24)} ${shown(seen[at] ?? [])}`);
}

function shown(rounds: readonly Round[]): string {
  const of = (value: (round: Round) => number, digits: number): string =>
    rounds.map((round) => value(round).toFixed(digits)).join(', ');
  const rate = of(({ writes }) => (writes.calls - writes.failed) / writes.seconds, 0);
  const p50 = of(({ writes }) => writes.latencies.percentiles().p50, 2);
  const p99 = of(({ writes }) => writes.latencies.percentiles().p99, 2);
  const renders = of((round) => round.renders / round.writes.seconds, 1);
  const [lagP99, lagMax] = [of(({ lag }) => lag.p99, 1), of(({ lag }) => lag.max, 1)];
  const failed = rounds.reduce((sum, { writes }) => sum + writes.failed, 0);
  return `${rate} /s\n  p50 ${p50} ms\n  p99 ${p99} ms\n  renders ${renders} /s\n  loop p99 ${lagP99} ms, most ${lagMax} ms\n  failed ${failed}`;
}

async function filled(template: ReturnType<typeof appendRequests>, calls: number): Promise<void> {
  const { address } = node;
  const load = { address, headers: grpcHeaders(TRANSACT), clients: 4, seconds: 0, request: () => template.next() };
  const { failed } = await closedLoop({ ...load, calls });
  if (failed > 0) throw new Error(`${failed} of ${calls} transactions failed`);
}

function viewOf(number: number): string {
  return `view-${number}`;
}

/** Publishes and activates a State View of every event. */
async function publish(database: string, number: number, component: Uint8Array): Promise<void> {
  const request = message(
    bytesField(1, database),
    bytesField(2, viewOf(number)),
    bytesField(4, 'application/octet-stream'),
    bytesField(9, component),
  );
  const connection = await Http2Connection.open(node.address);
  await answered(connection, 'PublishStateView', request);
  connection.close();
}

/** Repeats the fold from the first event until it is cancelled. Returns the number of folds. */
async function fold(database: string, number: number, signal: AbortSignal): Promise<number> {
  const connection = await Http2Connection.open(node.address);
  const request = message(bytesField(1, database), bytesField(2, viewOf(number)));
  let count = 0;
  while (!signal.aborted) {
    await answered(connection, 'ExpireSnapshots', request);
    await answered(connection, 'FetchStateView', request);
    count++;
  }
  connection.close();
  return count;
}

async function answered(connection: Http2Connection, method: string, request: Buffer): Promise<void> {
  const replies = await messagesOf(connection, grpcHeaders(`${SERVICE}${method}`), grpcMessage(request));
  if (replies.length === 0) throw new Error(`${method} failed`);
}

/** Event-loop delay since the previous call, in milliseconds. */
async function lagOf(): Promise<Round['lag']> {
  await delay(METRICS_KEPT_MS);
  const text = await (await fetch(node.metrics)).text();
  const of = (name: string): number =>
    Number(new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, 'm').exec(text)?.[1]) * 1000;
  return { p99: of('p99'), max: of('max') };
}
