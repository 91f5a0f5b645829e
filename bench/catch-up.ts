/**
 * Measures how fast a node that was down catches up, and how much that slows down concurrent writes.
 *
 *   npm run build && node --conditions=source bench/catch-up.ts [--events 1000000] [--batch 100] [--bytes 256] \
 *     [--writers 16] [--seconds 5] [--warm-up 5] [--root .]
 *
 * Three nodes run in separate processes on loopback. A follower is stopped, `--events` events are written, and it is
 * started again; it lacks more entries than the logs of the other nodes still have. Closed-loop writers send
 * transactions of one event to the leader. The program reports their rate and the CPU time of the nodes with three
 * nodes, with two nodes, while the third node catches up (from its first new revision), and afterwards.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readNumber, readOptions } from '../scripts/support/command-line.ts';
import { appendRequests, type CairnNode, TRANSACT } from './peers/cairn.ts';
import { CairnCluster } from './peers/cairn-cluster.ts';
import { closedLoop } from './support/closed-loop.ts';
import { grpcHeaders, Http2Connection } from './support/http2-connection.ts';
import { Latencies } from './support/latencies.ts';
import { threadSeconds } from './support/process-cpu.ts';
import type { RequestTemplate } from './support/request-template.ts';

const DATABASE = 'catch-up';
const NODES = 3;
const LOADERS = 16;
const LOOK_MS = 100;
const SETTLE_MS = 2_000;
const NUMBERS = 500_000_000;
/** Threads that use less of a processor are omitted. */
const SHARE_MIN = 0.02;

const values = readOptions({
  events: '1000000',
  batch: '100',
  bytes: '256',
  writers: '16',
  seconds: '5',
  'warm-up': '5',
  root: '.',
});
const whole = { min: 1, isWhole: true } as const;
const events = readNumber('events', values.events, whole);
const batch = readNumber('batch', values.batch, whole);
const eventBytes = readNumber('bytes', values.bytes, whole);
const writerCount = readNumber('writers', values.writers, whole);
const seconds = readNumber('seconds', values.seconds, { min: 0.1, isWhole: false });
const warmUpSeconds = readNumber('warm-up', values['warm-up'], { min: 0, isWhole: false });
const build = { root: resolve(values.root ?? '.'), nodeOptions: [], env: {} };
const headers = grpcHeaders(TRANSACT);

/** Writers that run until `stop`. */
class Writers {
  latencies = new Latencies();
  failed = 0;
  readonly #connection: Http2Connection;
  readonly #template: RequestTemplate;
  #isOver = false;
  #writing = 0;

  static async start(address: CairnNode['address'], template: RequestTemplate): Promise<Writers> {
    const writers = new Writers(await Http2Connection.open(address), template);
    for (let left = writerCount; left > 0; left--) writers.#write();
    return writers;
  }

  private constructor(connection: Http2Connection, template: RequestTemplate) {
    this.#connection = connection;
    this.#template = template;
  }

  /** Resolves when the last write has ended. */
  async stop(): Promise<void> {
    this.#isOver = true;
    while (this.#writing > 0) await delay(1);
    this.#connection.close();
  }

  #write(): void {
    if (this.#isOver) return;
    this.#writing += 1;
    const startedMs = performance.now();
    const onEnd = ({ ok }: { readonly ok: boolean }): void => {
      this.#writing -= 1;
      if (ok) this.latencies.add(performance.now() - startedMs);
      else this.failed += 1;
      this.#write();
    };
    this.#connection.call(headers, this.#template.next(), { onEnd });
  }
}

/** A node with its display name. */
type Named = readonly [name: string, node: CairnNode];

interface Phase {
  readonly name: string;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly seconds: number;
  /** CPU seconds per second, by node and thread. */
  readonly shares: ReadonlyMap<string, number>;
  /** Mean duration of a log sync in milliseconds, on the nodes that are up to date. */
  readonly syncMs: number;
}

/** Measures the writes until `until` resolves. */
async function phase(
  name: string,
  writers: Writers,
  { nodes, until }: { readonly nodes: readonly Named[]; readonly until: () => Promise<unknown> },
): Promise<Phase> {
  writers.latencies = new Latencies();
  const synced = nodes.slice(0, 2).map(([, node]) => node);
  const [before, syncsBefore] = [times(nodes), await syncsOf(synced)];
  const startedMs = performance.now();
  await until();
  const took = (performance.now() - startedMs) / 1000;
  const { count } = writers.latencies;
  const { p50, p99 } = writers.latencies.percentiles();
  const shares = new Map<string, number>();
  for (const [thread, used] of times(nodes)) shares.set(thread, (used - (before.get(thread) ?? 0)) / took);
  const syncs = await syncsOf(synced);
  const syncMs = (1000 * (syncs.seconds - syncsBefore.seconds)) / (syncs.count - syncsBefore.count);
  return { name, perSecond: count / took, p50, p99, seconds: took, shares, syncMs };
}

function times(nodes: readonly Named[]): ReadonlyMap<string, number> {
  const all = nodes.flatMap(([name, { pid }]) =>
    [...threadSeconds(pid)].map(([thread, used]) => [`${name}'s ${thread}`, used] as const),
  );
  return new Map(all);
}

async function syncsOf(nodes: readonly CairnNode[]): Promise<{ readonly count: number; readonly seconds: number }> {
  const sum = { count: 0, seconds: 0 };
  for (const { metrics } of nodes) {
    const text = await (await fetch(metrics)).text();
    const valueOf = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    sum.count += valueOf('cairn_wal_fsync_duration_seconds_count');
    sum.seconds += valueOf('cairn_wal_fsync_duration_seconds_sum');
  }
  return sum;
}

/** Revision of the database on a node; 0 while the node does not have the database. */
async function revisionAt({ metrics }: CairnNode): Promise<number> {
  const text = await (await fetch(metrics)).text();
  return Number(new RegExp(`^cairn_database_revision\\{database="${DATABASE}"\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
}

async function measure(cluster: CairnCluster): Promise<string> {
  await cluster.createDatabase(DATABASE);
  const leading = await cluster.leaderOf(DATABASE);
  const away = cluster.names.findLast((name) => name !== leading) ?? '';
  const other = cluster.names.find((name) => name !== leading && name !== away) ?? '';
  const leader = cluster.node(leading);
  const { address } = leader;
  const shape = { database: DATABASE, eventBytes, conditional: true };
  const single = appendRequests({ ...shape, events: 1 }, 0);
  const two: Named[] = [
    ['leader', leader],
    ['other', cluster.node(other)],
  ];
  const until = (): Promise<unknown> => delay(1000 * seconds);

  const first = await Writers.start(address, single);
  await delay(1000 * warmUpSeconds);
  const phases = [await phase('three nodes', first, { nodes: [...two, ['member', cluster.node(away)]], until })];
  await first.stop();
  await cluster.node(away).stop();

  const before = await revisionAt(leader);
  const load = appendRequests({ ...shape, events: batch }, NUMBERS);
  const calls = Math.ceil(events / batch);
  await closedLoop({ address, headers, clients: LOADERS, seconds: 0, calls, request: () => load.next() });
  await delay(SETTLE_MS);
  /** Number of events after a revision that the third node had. */
  const missedAt = (revision: number): number => {
    const loaded = Math.min(revision - before, calls);
    return batch * loaded + Math.max(0, revision - before - loaded);
  };

  const writers = await Writers.start(address, single);
  await delay(SETTLE_MS);
  phases.push(await phase('two nodes', writers, { nodes: two, until }));
  const target = await revisionAt(leader);
  const node = await cluster.startNode(away);
  const nodes: Named[] = [...two, ['member', node]];
  const began = await reached(node, before + 1);
  const catching = await phase('catching up', writers, { nodes, until: () => reached(node, target) });
  phases.push(catching, await phase('afterwards', writers, { nodes, until }));
  await writers.stop();
  const caughtUp = missedAt(target) - missedAt(began);
  return report(phases, { caughtUp, perSecond: caughtUp / catching.seconds, failed: first.failed + writers.failed });
}

/** Waits until the node has at least this revision; returns the node's revision. */
async function reached(node: CairnNode, revision: number): Promise<number> {
  for (;;) {
    const seen = await revisionAt(node);
    if (seen >= revision) return seen;
    await delay(LOOK_MS);
  }
}

interface CaughtUp {
  readonly caughtUp: number;
  readonly perSecond: number;
  readonly failed: number;
}

function report(phases: readonly Phase[], { caughtUp, perSecond, failed }: CaughtUp): string {
  const rows = phases.map(({ name, perSecond: writes, p50, p99, seconds: took, shares, syncMs }) => {
    const large = [...shares].filter(([, share]) => share >= SHARE_MIN).toSorted(([, one], [, more]) => more - one);
    const by = large.map(([thread, share]) => `${thread} ${share.toFixed(2)}`).join(', ');
    const total = [...shares.values()].reduce((sum, share) => sum + share, 0);
    return [
      name,
      took.toFixed(1),
      writes.toFixed(0),
      p50.toFixed(2),
      p99.toFixed(2),
      syncMs.toFixed(2),
      total.toFixed(2),
      by,
    ];
  });
  const head = ['', 'seconds', 'writes/s', 'p50 ms', 'p99 ms', 'a sync, ms', 'processors', 'of them'];
  const during = phases.find(({ name }) => name === 'catching up')?.perSecond ?? Number.NaN;
  const against = phases
    .filter(({ name }) => name !== 'catching up')
    .map(({ name, perSecond: writes }) => `${(100 * (1 - during / writes)).toFixed(0)} % below ${name}`);
  return [
    `${caughtUp} events caught up, ${perSecond.toFixed(0)} a second; writes meanwhile ${against.join(', ')}.`,
    `${writerCount} writers, events of ${eventBytes} bytes, ${batch} in a transaction of those that were missed; ` +
      `${failed} writes failed; load average ${loadavg()[0]?.toFixed(1)}.`,
    '',
    ...[head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`),
    '',
  ].join('\n');
}

const dir = mkdtempSync(join(tmpdir(), 'cairn-catch-up-'));
const cluster = await CairnCluster.start(dir, NODES, [], build);
try {
  process.stdout.write(`${await measure(cluster)}\n`);
} finally {
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
}
