/**
 * Measures how fast a node that was down catches up, and how much that slows down concurrent writes.
 *
 * Three nodes run in separate processes. A follower is stopped, events are written, and it is started again; it lacks
 * more entries than the logs of the other nodes still have. Closed-loop writers send transactions of one event to the
 * leader. Their rate and the CPU time of the nodes are measured with three nodes, with two nodes, while the third node
 * catches up (from its first new revision), and afterwards.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { appendRequests, type CairnNode, TRANSACT } from '../peers/cairn.ts';
import { CairnCluster } from '../peers/cairn-cluster.ts';
import { grpcHeaders, Http2Connection } from '../support/http2-connection.ts';
import { Latencies } from '../support/latencies.ts';
import { fill } from '../support/measured.ts';
import { threadSeconds } from '../support/process-cpu.ts';
import type { RequestTemplate } from '../support/request-template.ts';
import type { Figure } from '../support/results.ts';
import type { Plan } from '../support/sample.ts';
import type { Measurement, Preparation } from './named.ts';

const NAME = 'catch-up';
const NODES = 3;
const NODES_NAME = `cairn × ${NODES}`;
const EVENT_BYTES = 256;
const EVENTS_PER_TRANSACTION = 100;
const WRITERS = 16;
const LOOK_MS = 100;
const SETTLE_MS = 2_000;
const NUMBERS = 500_000_000;
/** Threads that use less of a processor are omitted. */
const SHARE_MIN = 0.02;

export function catchUp({ arena, events }: Preparation): Measurement {
  return {
    name: NAME,
    directory: arena.at(NAME),
    what: `A node that lacks ${events} events in transactions of ${EVENTS_PER_TRANSACTION} catches up, while ${WRITERS} writers append single events at the leader; processors by node and thread. ${EVENT_BYTES}-byte events.`,
    figures: async (plan) => {
      const cluster = await CairnCluster.start(arena.at(NAME), NODES);
      try {
        return await measure(cluster, events, plan);
      } finally {
        await cluster.stop();
      }
    },
  };
}

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
    for (let left = WRITERS; left > 0; left--) writers.#write();
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
    if (this.#isOver || !this.#connection.isOpen) return;
    this.#writing += 1;
    const startedMs = performance.now();
    const onEnd = ({ ok }: { readonly ok: boolean }): void => {
      this.#writing -= 1;
      if (ok) this.latencies.add(performance.now() - startedMs);
      else this.failed += 1;
      this.#write();
    };
    this.#connection.call(HEADERS, this.#template.next(), { onEnd });
  }
}

const HEADERS = grpcHeaders(TRANSACT);

/** A node with its display name. */
type Named = readonly [name: string, node: CairnNode];

interface Phase {
  readonly name: string;
  readonly perSecond: number;
  readonly seconds: number;
  readonly text: string;
}

/** Measures the writes until `until` resolves. */
async function phase(
  name: string,
  writers: Writers,
  { nodes, until }: { readonly nodes: readonly Named[]; readonly until: () => Promise<unknown> },
): Promise<Phase> {
  writers.latencies = new Latencies();
  const before = times(nodes);
  const startedMs = performance.now();
  await until();
  const seconds = (performance.now() - startedMs) / 1000;
  const { p50, p99 } = writers.latencies.percentiles();
  const shares = [...times(nodes)].map(
    ([thread, used]) => [thread, (used - (before.get(thread) ?? 0)) / seconds] as const,
  );
  const large = shares.filter(([, share]) => share >= SHARE_MIN).toSorted(([, one], [, more]) => more - one);
  const perSecond = writers.latencies.count / seconds;
  const text = [
    `${perSecond.toFixed(0)} writes/s in ${seconds.toFixed(1)} s, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`,
    large.map(([thread, share]) => `${thread} ${share.toFixed(2)}`).join(', '),
  ].join('; ');
  return { name, perSecond, seconds, text };
}

function times(nodes: readonly Named[]): ReadonlyMap<string, number> {
  const all = nodes.flatMap(([name, { pid }]) =>
    [...threadSeconds(pid)].map(([thread, used]) => [`${name}'s ${thread}`, used] as const),
  );
  return new Map(all);
}

/** Revision of the database on a node; 0 while the node does not have the database. */
async function revisionAt({ metrics }: CairnNode): Promise<number> {
  const text = await (await fetch(metrics)).text();
  return Number(new RegExp(`^cairn_database_revision\\{database="${NAME}"\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
}

async function measure(cluster: CairnCluster, events: number, plan: Plan): Promise<readonly Figure[]> {
  await cluster.createDatabase(NAME);
  const leading = await cluster.leaderOf(NAME);
  const away = cluster.names.findLast((name) => name !== leading) ?? '';
  const other = cluster.names.find((name) => name !== leading && name !== away) ?? '';
  const leader = cluster.node(leading);
  const { address } = leader;
  const shape = { database: NAME, eventBytes: EVENT_BYTES, conditional: true };
  const single = appendRequests({ ...shape, events: 1 }, 0);
  const two: Named[] = [
    ['leader', leader],
    ['other', cluster.node(other)],
  ];
  const until = (): Promise<unknown> => delay(1000 * plan.seconds);

  const first = await Writers.start(address, single);
  await delay(1000 * plan.warmUpSeconds);
  const phases = [await phase('three nodes', first, { nodes: [...two, ['member', cluster.node(away)]], until })];
  await first.stop();
  await cluster.node(away).stop();

  const before = await revisionAt(leader);
  const load = appendRequests({ ...shape, events: EVENTS_PER_TRANSACTION }, NUMBERS);
  const calls = Math.ceil(events / EVENTS_PER_TRANSACTION);
  await fill({ pids: [], eventsPerCall: 1 }, { address, path: TRANSACT, request: () => load.next() }, calls);
  await delay(SETTLE_MS);
  /** Number of events after a revision that the third node had. */
  const missedAt = (revision: number): number => {
    const loaded = Math.min(revision - before, calls);
    return EVENTS_PER_TRANSACTION * loaded + Math.max(0, revision - before - loaded);
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
  const changes = phases
    .filter((each) => each !== catching)
    .map(({ name, perSecond }) => `${percent(catching.perSecond / perSecond - 1)} against ${name}`);
  const failed = first.failed + writers.failed;
  const rate = `${(caughtUp / catching.seconds).toFixed(0)} events/s caught up of ${caughtUp}; writes meanwhile ${changes.join(', ')}; ${failed} writes failed`;
  return [
    { contender: NODES_NAME, text: rate },
    ...phases.map(({ name, text }) => ({ contender: `${NODES_NAME}, ${name}`, text })),
  ];
}

function percent(change: number): string {
  return `${change < 0 ? '' : '+'}${(100 * change).toFixed(0)} %`;
}

/** Waits until the node has at least this revision; returns the node's revision. */
async function reached(node: CairnNode, revision: number): Promise<number> {
  for (;;) {
    const seen = await revisionAt(node);
    if (seen >= revision) return seen;
    await delay(LOOK_MS);
  }
}
