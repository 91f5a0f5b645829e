/**
 * Measures the cost of a command decided by a compiled State Change: it reads one State View, and one event is
 * committed with a sync.
 *
 *   npm run build && node --conditions=source bench/commands.ts [--clients 64] [--seconds 5] [--rounds 3]
 *     [--settings ...]
 *
 * One node runs in another process. Each round measures commands of one client; commands of `--clients` clients for
 * different accounts, without conflicts; commands of the same clients for a single account, so that all of them
 * conflict; and, for comparison, plain transactions of one event, by one client and by all.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNumber, readOptions } from '../scripts/support/command-line.ts';
import { countingText } from '../test/support/wasm/counting.ts';
import { wat } from '../test/support/wasm/wat.ts';
import { appendRequests, createDatabase, startCairn, THIS_BUILD, TRANSACT } from './peers/cairn.ts';
import { closedLoop, type LoadResult } from './support/closed-loop.ts';
import { commandComponent, PARAMETER, VIEW_NAME } from './support/command-component.ts';
import { grpcHeaders, grpcMessage, Http2Connection } from './support/http2-connection.ts';
import { bytesField, message, varintField } from './support/protobuf.ts';
import { COUNTER_MARKER, RequestTemplate } from './support/request-template.ts';
import { messagesOf } from './support/unary.ts';

const options = readOptions({ clients: '64', seconds: '5', rounds: '3', settings: undefined });
const CLIENTS = readNumber('clients', options.clients, { min: 1, isWhole: true });
const SECONDS = readNumber('seconds', options.seconds, { min: 1, isWhole: false });
const ROUNDS = readNumber('rounds', options.rounds, { min: 1, isWhole: true });
const DATABASE = 'bank';
const CHANGE = 'counting';
const SERVICE = '/cairn.v1.EventStore/';
const PUBLISH_VIEW = `${SERVICE}PublishStateView`;
const PUBLISH_CHANGE = `${SERVICE}PublishStateChange`;
const EXECUTE = `${SERVICE}ExecuteStateChange`;
const PARAMETER_TERM_SUBJECT = 5;
const WARM_UP_SECONDS = 5;
const FIRST = { commands: 1, transactions: 100_000_000 };

const WAYS = [
  '1 client',
  `${CLIENTS} clients`,
  `${CLIENTS} clients, one account`,
  'transact, 1 client',
  `transact, ${CLIENTS} clients`,
] as const;

const directory = mkdtempSync(join(tmpdir(), 'cairn-commands-'));
const node = await startCairn(directory, THIS_BUILD, options.settings?.split(' ') ?? []);
try {
  await run();
} finally {
  await node.stop();
  rmSync(directory, { recursive: true, force: true });
}

async function run(): Promise<void> {
  console.log(`load ${loadavg()[0]?.toFixed(2)}`);
  await createDatabase(node, DATABASE);
  await publishBoth();
  const requests = {
    commands: commandRequests(COUNTER_MARKER),
    hot: commandRequests('hot'),
    transactions: appendRequests(
      { database: DATABASE, events: 1, eventBytes: 200, conditional: false },
      FIRST.transactions,
    ),
  };
  const load = (headers: string, template: RequestTemplate, clients: number, seconds = SECONDS): Promise<LoadResult> =>
    closedLoop({
      address: node.address,
      headers: grpcHeaders(headers),
      clients,
      seconds,
      request: () => template.next(),
    });
  await load(EXECUTE, requests.commands, CLIENTS, WARM_UP_SECONDS);
  await load(TRANSACT, requests.transactions, CLIENTS, WARM_UP_SECONDS);
  const seen = new Map<string, LoadResult[]>(WAYS.map((way) => [way, []]));
  for (let round = 0; round < ROUNDS; round++) {
    seen.get(WAYS[0])?.push(await load(EXECUTE, requests.commands, 1));
    seen.get(WAYS[1])?.push(await load(EXECUTE, requests.commands, CLIENTS));
    seen.get(WAYS[2])?.push(await load(EXECUTE, requests.hot, CLIENTS));
    seen.get(WAYS[3])?.push(await load(TRANSACT, requests.transactions, 1));
    seen.get(WAYS[4])?.push(await load(TRANSACT, requests.transactions, CLIENTS));
  }
  for (const [way, results] of seen) console.log(`${way.padEnd(24)} ${shown(results)}`);
}

/** Formats one value per round. */
function shown(results: readonly LoadResult[]): string {
  const of = (value: (result: LoadResult) => string): string => results.map(value).join(', ');
  const rate = of(({ calls, failed, seconds }) => ((calls - failed) / seconds).toFixed(0));
  const p50 = of(({ latencies }) => latencies.percentiles().p50.toFixed(2));
  const p99 = of(({ latencies }) => latencies.percentiles().p99.toFixed(2));
  const failed = results.reduce((sum, result) => sum + result.failed, 0);
  return `${rate} /s   p50 ${p50} ms   p99 ${p99} ms   failed ${failed}`;
}

async function publishBoth(): Promise<void> {
  const parameter = bytesField(21, message(bytesField(1, PARAMETER), varintField(2, PARAMETER_TERM_SUBJECT)));
  const selection = bytesField(1, parameter);
  const view = message(
    bytesField(1, DATABASE),
    bytesField(2, VIEW_NAME),
    bytesField(4, 'application/octet-stream'),
    bytesField(6, selection),
    bytesField(9, await wat(countingText({ hasBatch: true }))),
  );
  const change = message(bytesField(1, DATABASE), bytesField(2, CHANGE), bytesField(5, await wat(commandComponent())));
  await published(PUBLISH_VIEW, view);
  await published(PUBLISH_CHANGE, change);
}

async function published(method: string, request: Buffer): Promise<void> {
  const connection = await Http2Connection.open(node.address);
  const replies = await messagesOf(connection, grpcHeaders(method), grpcMessage(request));
  connection.close();
  if (replies.length === 0) throw new Error(`${method} was refused`);
}

/** Commands for this account, or each for another account when it is a marker. */
function commandRequests(account: string): RequestTemplate {
  const request = message(bytesField(1, 'POST'), bytesField(2, `/accounts/${account}`));
  const body = message(bytesField(1, DATABASE), bytesField(2, CHANGE), varintField(3, 1), bytesField(5, request));
  return new RequestTemplate(body, { firstCounter: FIRST.commands, markersPerNumber: 1 });
}
