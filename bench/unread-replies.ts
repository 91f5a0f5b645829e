/**
 * Measures the memory of a node with clients that do not read their replies, and the latency of a normal client
 * meanwhile.
 *
 *   npm run build && node --conditions=source bench/unread-replies.ts
 *     [--kind small|large|streams|events|half|pages] [--connections 40] [--streams 1000] [--seconds 20] [--after 20]
 *     [--settings ...] [--trim yes] [--newcomers 0]
 *
 * One node runs in another process. The clients grant the server no flow-control window on any stream, keep `--streams`
 * calls open on each connection, and repeat calls that were refused or ended. The kinds of calls: `small` has replies
 * of a few hundred bytes, `large` of 60 KB; `streams` reads all events, of 60 KB each, `events` the same with 990 KB;
 * `half` sends 16 KB of a request and then nothing; `pages` requests ten pages of 6 MB over HTTP per connection.
 * Meanwhile a normal client makes one small call after the other, or reads one event at a time with `events`.
 * `--newcomers` clients make a single call of that kind each, one after the other on new connections. Finally the
 * attacking clients disconnect. With --trim, V8 then collects garbage and malloc returns free memory (with gdb).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readNumber, readOptions, refuse } from '../scripts/support/command-line.ts';
import {
  type CairnNode,
  createDatabase,
  FETCH_LATEST,
  FETCH_TRANSACTION,
  QUERY_EVENTS,
  startCairn,
  THIS_BUILD,
  TRANSACT,
} from './peers/cairn.ts';
import { closedLoop } from './support/closed-loop.ts';
import { collectGarbage, trimMalloc } from './support/give-back.ts';
import { grpcHeaders, grpcMessage, Http2Connection } from './support/http2-connection.ts';
import { cpuSeconds, residentMemory } from './support/process-cpu.ts';
import { bytesField, message, varintField } from './support/protobuf.ts';

const DATABASE = 'shop';
const MEBIBYTE = 2 ** 20;
const REFILL_MS = 100;
const LOOK_MS = 100;
const REST_MS = 3_000;
const TRANSACTIONS = 100;
const PAGES = 10;

interface Attack {
  readonly headers: Buffer;
  readonly request: (n: number) => Buffer;
  readonly isHalf?: boolean;
}

const LIMIT_OF_QUERY = 5;
const BY_NAME = grpcMessage(bytesField(1, DATABASE));
const HALF = Buffer.concat([Buffer.from([0, 0, 15, 0, 0]), Buffer.alloc(16_000)]);

const ATTACKS: Readonly<Record<string, Attack>> = {
  small: { headers: grpcHeaders(FETCH_LATEST), request: () => BY_NAME },
  large: {
    headers: grpcHeaders(FETCH_TRANSACTION),
    request: (n) => grpcMessage(message(bytesField(1, DATABASE), bytesField(2, transactionId(n % (TRANSACTIONS - 1))))),
  },
  streams: { headers: grpcHeaders(QUERY_EVENTS), request: () => BY_NAME },
  events: { headers: grpcHeaders(QUERY_EVENTS), request: () => BY_NAME },
  half: { headers: grpcHeaders(TRANSACT), request: () => HALF, isHalf: true },
};

const defaults = {
  kind: 'small',
  connections: '40',
  streams: '1000',
  seconds: '20',
  after: '20',
  settings: '',
  trim: 'no',
  newcomers: '0',
  root: '',
};
const values = readOptions(defaults);
const attack = ATTACKS[values.kind ?? ''];
if (attack === undefined && values.kind !== 'pages') {
  refuse(`--kind takes ${Object.keys(ATTACKS).join(', ')}, pages`);
}
const connections = readNumber('connections', values.connections, { min: 1, isWhole: true });
const streams = readNumber('streams', values.streams, { min: 1, isWhole: true });
const seconds = readNumber('seconds', values.seconds, { min: 1, isWhole: false });
const after = readNumber('after', values.after, { min: 1, isWhole: false });
const newcomers = readNumber('newcomers', values.newcomers, { min: 0, isWhole: true });
const dataBytes = values.kind === 'events' ? 990_000 : 60_000;
if (values.trim !== 'yes' && values.trim !== 'no') refuse('--trim takes yes, no');
const settings = (values.settings ?? '').split(' ').filter(Boolean);

/** A connection that is kept full of calls. */
interface Unread {
  readonly open: number;
  /** Number of refused or ended calls. */
  readonly refused: number;
  readonly failed: boolean;
  fill(): void;
  close(): void;
}

class UnreadCalls implements Unread {
  readonly #connection: Http2Connection;
  readonly #attack: Attack;
  open = 0;
  refused = 0;

  constructor(connection: Http2Connection, calls: Attack) {
    this.#connection = connection;
    this.#attack = calls;
  }

  fill(): void {
    if (this.#connection.failed) return;
    while (this.open < Math.min(streams, this.#connection.streamsMax)) {
      this.open += 1;
      const onEnd = (): void => {
        this.open -= 1;
        this.refused += 1;
      };
      const request = this.#attack.request(this.open);
      if (this.#attack.isHalf === true) this.#connection.callWithoutEnd(this.#attack.headers, request, { onEnd });
      else this.#connection.call(this.#attack.headers, request, { onEnd });
    }
  }

  get failed(): boolean {
    return this.#connection.failed;
  }

  close(): void {
    this.#connection.close();
  }
}

class UnreadPages implements Unread {
  readonly #url: URL;
  #socket: Socket | undefined;
  readonly failed = false;
  open = 0;
  refused = 0;

  constructor(address: string) {
    this.#url = new URL(address);
  }

  fill(): void {
    if (this.#socket !== undefined) return;
    const socket = connect(Number(this.#url.port), this.#url.hostname);
    this.#socket = socket;
    socket.pause();
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#socket = undefined;
      this.refused += this.open;
      this.open = 0;
    });
    this.open = PAGES;
    socket.write(`GET /databases/${DATABASE}/events?limit=1000 HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(PAGES));
  }

  close(): void {
    this.#socket?.destroy();
  }
}

const dir = mkdtempSync(join(tmpdir(), 'cairn-unread-replies-'));
const build = values.root ? { ...THIS_BUILD, root: values.root } : THIS_BUILD;
const node = await startCairn(dir, build, settings);
try {
  await prepare(node);
  process.stdout.write(`${await measure(node)}\n`);
} finally {
  await node.stop();
  rmSync(dir, { recursive: true, force: true });
}

function transactionId(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

async function prepare({ address }: CairnNode): Promise<void> {
  await createDatabase(node, DATABASE);
  let made = 0;
  const request = (): Buffer => {
    const event = message(
      bytesField(1, `id-${made}`),
      bytesField(2, '1.0'),
      bytesField(3, 'com.example.order.placed'),
      bytesField(4, 'https://example.com/streams/orders'),
      bytesField(5, `subject-${made}`),
      // The last one is small, because calls about the latest revision read it.
      bytesField(7, JSON.stringify('x'.repeat(made < TRANSACTIONS - 1 ? dataBytes : 1))),
    );
    const transaction = message(bytesField(1, event), bytesField(3, transactionId(made++)));
    return grpcMessage(message(bytesField(1, DATABASE), bytesField(2, transaction)));
  };
  const headers = grpcHeaders(TRANSACT);
  const done = await closedLoop({ address, headers, clients: 1, seconds: 0, request, calls: TRANSACTIONS });
  if (done.failed > 0) throw new Error(`${done.failed} transactions failed`);
  await delay(REST_MS);
}

/** Memory that the node reports by part, in MiB. */
async function parts(): Promise<string> {
  const text = await (await fetch(node.metrics)).text();
  const of = (name: string): string =>
    (Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN) / MEBIBYTE).toFixed(0);
  const heap = `V8 uses ${of('nodejs_heap_size_used_bytes')} of ${of('nodejs_heap_size_total_bytes')} and ${of('nodejs_external_memory_bytes')} outside its heap`;
  return `${heap}; counted: requests ${of('cairn_request_memory_bytes')}, replies ${of('cairn_unsent_memory_bytes')}`;
}

function honestCall(): { readonly headers: Buffer; readonly request: () => Buffer } {
  if (values.kind !== 'events') return { headers: grpcHeaders(FETCH_LATEST), request: () => BY_NAME };
  const request = grpcMessage(message(bytesField(1, DATABASE), bytesField(2, message(varintField(LIMIT_OF_QUERY, 1)))));
  return { headers: grpcHeaders(QUERY_EVENTS), request: () => request };
}

/** Durations of the newcomers' calls, including the connection. */
async function comeAnew({ address }: CairnNode): Promise<readonly number[]> {
  const took: number[] = [];
  for (let n = 0; n < newcomers; n++) {
    const began = performance.now();
    await closedLoop({ address, ...honestCall(), clients: 1, seconds: 0, calls: 1 });
    took.push(performance.now() - began);
  }
  return took;
}

/** Resident memory in MiB, after each step that releases unused memory. */
async function trim(pid: number): Promise<readonly string[]> {
  const resident = (): string => `${(residentMemory(pid).total / MEBIBYTE).toFixed(0)} MiB`;
  await collectGarbage(pid);
  const collected = resident();
  trimMalloc(pid);
  return [`once V8 had collected ${collected}, and malloc had released its free memory ${resident()}`];
}

async function measure(attacked: CairnNode): Promise<string> {
  const { pid, address, http } = attacked;
  const rss = (): number => residentMemory(pid).total / MEBIBYTE;
  const idle = rss();
  let peak = 0;
  const looking = setInterval(() => {
    peak = Math.max(peak, rss());
  }, LOOK_MS);
  const unread: Unread[] = [];
  for (let n = 0; n < connections; n++) {
    if (attack === undefined) unread.push(new UnreadPages(http));
    else unread.push(new UnreadCalls(await Http2Connection.open(address, { windowBytes: 0 }), attack));
  }
  const fill = (): void => {
    for (const each of unread) each.fill();
  };
  fill();
  const filling = setInterval(fill, REFILL_MS);
  const cpuBefore = cpuSeconds([pid]);
  const [honest, came] = await Promise.all([
    closedLoop({ address, ...honestCall(), clients: 1, seconds }),
    comeAnew(attacked),
  ]);
  clearInterval(filling);
  const cpu = cpuSeconds([pid]) - cpuBefore;
  const atEnd = rss();
  const partsAtEnd = await parts();
  clearInterval(looking);
  const sum = (of: (each: Unread) => number): number => unread.reduce((total, each) => total + of(each), 0);
  const [open, refused] = [sum((each) => each.open), sum((each) => each.refused)];
  const lost = unread.filter((each) => each.failed).length;
  for (const each of unread) each.close();
  await delay(after * 1000);
  const left = rss();
  const mib = (value: number): string => `${value.toFixed(0)} MiB`;
  const partsLeft = await parts();
  const trimmed = values.trim === 'yes' ? await trim(pid) : [];
  const { p50, p99, max } = honest.latencies.percentiles();
  const ms = (value: number): string => `${value.toFixed(0)} ms`;
  return [
    `kind ${values.kind}, ${connections} connections of ${streams}, ${seconds} s, settings ${settings.join(' ') || 'as they are'}`,
    `idle ${mib(idle)}, peak ${mib(peak)}, above idle ${mib(peak - idle)}, at the end ${mib(atEnd)}, ${after} s after they went ${mib(left)}`,
    `at the end: ${partsAtEnd} (MiB)`,
    `after they went: ${partsLeft} (MiB)`,
    ...trimmed,
    `open at the end ${open}, refused or cut off ${refused}, connections lost ${lost}; ${cpu.toFixed(1)} s of processor`,
    `an honest client: ${honest.calls} calls, ${honest.failed} failed, p50 ${ms(p50)}, p99 ${ms(p99)}, the longest ${ms(max)}`,
    ...(came.length === 0 ? [] : [`newcomers, in turn: ${came.map(ms).join(', ')}`]),
  ].join('\n');
}
