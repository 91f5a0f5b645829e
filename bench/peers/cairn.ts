/**
 * Cairn as a contender of benchmarks: starts the compiled server in another process, and builds the requests of the
 * workloads.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { foundingUnlessJoining } from '../../test/support/founding.ts';
import { closedLoop } from '../support/closed-loop.ts';
import { grpcHeaders, grpcMessage } from '../support/http2-connection.ts';
import { bytesField, message, varintField } from '../support/protobuf.ts';
import { COUNTER_MARKER, RequestTemplate } from '../support/request-template.ts';
import { killProcess, launch, stopProcess } from '../support/server-process.ts';

export interface CairnNode {
  readonly directory: string;
  readonly pid: number;
  readonly address: { readonly host: string; readonly port: number };
  /** URL of the HTTP interface. */
  readonly http: string;
  /** host:port for other nodes; undefined when they cannot connect. */
  readonly peer: string | undefined;
  /** URL of the metrics. */
  readonly metrics: string;
  /** URL of MCP; undefined when it is off, as by default. */
  readonly mcp: string | undefined;
  /** Milliseconds from the start of the process to its ready line. */
  readonly readyMs: number;
  stop(): Promise<void>;
  /** Kills the process. */
  kill(): Promise<void>;
}

interface Ready {
  readonly event: string;
  readonly grpc: string;
  readonly http: string;
  readonly metrics: string;
  readonly mcp?: string;
  readonly peer?: string;
}

const ROOT = resolve(import.meta.dirname, '../..');
/** A start may index millions of events again. */
const READY_WITHIN_MS = 600_000;
const SERVICE = '/cairn.v1.EventStore/';

export const TRANSACT: string = `${SERVICE}Transact`;
export const QUERY_EVENTS: string = `${SERVICE}QueryEvents`;
export const SCAN_LOG: string = `${SERVICE}ScanDatabaseLog`;
export const SCAN_LOG_BATCHES: string = `${SERVICE}ScanLogBatches`;
export const SUBSCRIBE_EVENTS: string = `${SERVICE}SubscribeEvents`;
export const FETCH_LATEST: string = `${SERVICE}FetchLatestDatabase`;
export const FETCH_TRANSACTION: string = `${SERVICE}FetchTransaction`;
export const CREATE_DATABASE: string = `${SERVICE}CreateDatabase`;

export interface Build {
  /** Checkout with a compiled server. */
  readonly root: string;
  /** Options of Node.js; the server adds required ones. */
  readonly nodeOptions: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export const THIS_BUILD: Build = { root: ROOT, nodeOptions: [], env: {} };

/** True when a build has the setting. Earlier builds found a cluster without it, and write a ballast file. */
function knows(root: string, setting: string): boolean {
  return readFileSync(join(root, 'docs/configuration.md'), 'utf8').includes(setting);
}

const PORTS = ['--grpc-port=0', '--http-port=0', '--mcp-port=off', '--metrics-port=0'];

/** These settings, and those of the ports that they do not name. */
function withPorts(settings: readonly string[]): readonly string[] {
  const names = new Set(settings.map((each) => each.split('=')[0]));
  return [...PORTS.filter((each) => !names.has(each.split('=')[0])), ...settings];
}

/**
 * Starts the compiled server (npm run build) on free ports with additional settings. When the start fails, no process
 * remains.
 */
export async function startCairn(
  dataDir: string,
  build: Build = THIS_BUILD,
  settings: readonly string[] = [],
): Promise<CairnNode> {
  const began = performance.now();
  // Tables go to stdout, so the node logs only warnings and errors.
  const args = [
    ...build.nodeOptions,
    entryOf(build.root),
    `--data-dir=${dataDir}`,
    '--log-level=warn',
    ...(knows(build.root, '--bootstrap') ? foundingUnlessJoining(settings) : []),
    ...(knows(build.root, '--ballast-bytes') ? ['--ballast-bytes=0'] : []),
    ...withPorts(settings),
  ];
  const stdio = ['ignore' as const, 'pipe' as const, 'inherit' as const];
  const child = launch(dataDir, process.execPath, { args, stdio, env: { ...process.env, ...build.env } });
  const ready = await untilReady(child).catch(async (error: unknown) => {
    await stopProcess(child);
    throw error;
  });
  const [host = '127.0.0.1', port = ''] = ready.grpc.split(/:(?=\d+$)/);
  return {
    directory: dataDir,
    pid: child.pid ?? 0,
    address: { host, port: Number(port) },
    http: ready.http,
    peer: ready.peer,
    metrics: ready.metrics,
    mcp: ready.mcp,
    readyMs: performance.now() - began,
    stop: () => stopProcess(child),
    kill: () => killProcess(child),
  };
}

export async function createDatabase(node: CairnNode, name: string): Promise<void> {
  if (!(await callByName(node, CREATE_DATABASE, name))) throw new Error(`database ${name} could not be created`);
}

/** Calls a method with a database name; returns whether the call succeeded. */
async function callByName(node: CairnNode, method: string, name: string): Promise<boolean> {
  const request = grpcMessage(bytesField(1, name));
  const headers = grpcHeaders(method);
  const { address } = node;
  const made = await closedLoop({ address, headers, clients: 1, seconds: 0, request: () => request, calls: 1 });
  return made.failed === 0;
}

export interface AppendShape {
  readonly database: string;
  readonly events: number;
  readonly eventBytes: number;
  /** Adds a constraint to each transaction: the subject of its first event must not exist yet. */
  readonly conditional: boolean;
  /** Maps the number of an event to the number of its subject; absent: each event has another subject. */
  subjectOf?(number: number): number;
}

/** Transactions of `events` events with unique ids; each event has about `eventBytes` bytes on the wire. */
export function appendRequests(shape: AppendShape, firstCounter: number): RequestTemplate {
  const events = Array.from({ length: shape.events }, () => bytesField(1, eventMessage(shape.eventBytes)));
  const selector = bytesField(3, `subject-${COUNTER_MARKER}`);
  const absent = bytesField(2, bytesField(2, bytesField(2, selector)));
  const transaction = message(...events, ...(shape.conditional ? [absent] : []));
  // The id and subject of an event share a number, and a single event shares it with the constraint.
  const markersPerNumber = shape.events === 1 ? 3 : 2;
  return new RequestTemplate(message(bytesField(1, shape.database), bytesField(2, transaction)), {
    firstCounter,
    markersPerNumber,
    // The first marker of a number is the id.
    shown: (number, place) => (place === 0 ? number : (shape.subjectOf?.(number) ?? number)),
  });
}

/** Queries for the events of one subject, each request for another one; at most `limit` events, 0 means all. */
export function subjectQueries(
  database: string,
  subjectOf: (number: number) => number,
  { limit }: { readonly limit: number } = { limit: 0 },
): RequestTemplate {
  const selection = bytesField(1, bytesField(1, bytesField(3, `subject-${COUNTER_MARKER}`)));
  const query = message(bytesField(1, database), bytesField(2, message(selection, varintField(5, limit))));
  return new RequestTemplate(query, { firstCounter: 0, markersPerNumber: 1, shown: subjectOf });
}

/** Scans the whole log forward. */
export function scanRequest(database: string): Buffer {
  return grpcMessage(bytesField(1, database));
}

function eventMessage(eventBytes: number): Buffer {
  const head = message(
    bytesField(1, `id-${COUNTER_MARKER}`),
    bytesField(2, '1.0'),
    bytesField(3, 'com.example.order.placed'),
    bytesField(4, 'https://example.com/streams/orders'),
    bytesField(5, `subject-${COUNTER_MARKER}`),
  );
  const open = '{"note":"';
  const close = '"}';
  const filler = 'x'.repeat(Math.max(0, eventBytes - head.length - open.length - close.length - 3));
  return message(head, bytesField(7, `${open}${filler}${close}`));
}

/** The `cairn` command of a checkout, at the path that its package.json names. */
export function entryOf(root: string): string {
  const manifest: { readonly bin: { readonly cairn: string } } = JSON.parse(
    readFileSync(resolve(root, 'package.json'), 'utf8'),
  );
  return resolve(root, manifest.bin.cairn);
}

function untilReady(child: ChildProcess): Promise<Ready> {
  const ended = once(child, 'exit', { signal: AbortSignal.timeout(READY_WITHIN_MS) });
  const tooEarly = ended.then(([code, signal]: (number | string | null)[]) => {
    throw new Error(`the server ended with ${signal ?? `exit code ${code}`} before it was ready`);
  });
  return Promise.race([readyLine(child), tooEarly]);
}

async function readyLine(child: ChildProcess): Promise<Ready> {
  if (child.stdout === null) throw new TypeError('the server was started without a pipe for stdout');
  for await (const line of createInterface({ input: child.stdout })) {
    const parsed: Ready = JSON.parse(line);
    if (parsed.event === 'ready') return parsed;
  }
  return new Promise(() => undefined);
}
