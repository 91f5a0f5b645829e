/**
 * Counts, timings and notes of links: collected in the thread of the core, and exported by the front, which has the
 * metrics and the log.
 */
import { type NodeId } from '#base';
import type { Logger, Metrics } from '#observability';
import type { DropReason, FrameFault, PeerNote, PeerObserver } from './observer.ts';
import type { SnapshotEnding, SnapshotFacts, SnapshotObserver, SnapshotWay } from './snapshot-observer.ts';

/** Measures of one node since the last time. */
interface NodeMeasures {
  sentBytes: number;
  sentFailures: number;
  receivedBytes: number;
  receivedFailures: number;
  /** Current state; undefined when unknown. */
  isActive: boolean | undefined;
  /** Bytes of snapshots, without the overhead of frames. */
  readonly snapshotBytes: Record<SnapshotWay, number>;
  readonly roundTripsMs: number[];
}

/** A message to the front. */
export interface PeerMeasures {
  /** Measures by node id. The key undefined sums unidentified nodes, and those beyond the limit on separate nodes. */
  readonly nodes: ReadonlyMap<NodeId | undefined, Readonly<NodeMeasures>>;
  readonly notes: readonly PeerNote[];
  /** Transfers of snapshots that began. */
  readonly begun: readonly SnapshotFacts[];
  readonly endings: readonly SnapshotEnding[];
  readonly membersBehind: number;
  /** Failed frames of the heartbeat lane. */
  readonly beatFailures: number;
  /** Frames that were dropped and streams that were refused; a reason without any is missing. */
  readonly drops: ReadonlyMap<DropReason, number>;
  /** Number of times that reading a node's appends was suspended. */
  readonly stops: number;
}

/** Conflicts with other nodes; undefined: there is none. */
export interface PeerSigns {
  /** Description of a conflict between this node and another cluster. */
  readonly otherCluster: string | undefined;
  /** Reason why every reachable node refuses this one; undefined: one accepts it, or none is reachable. */
  readonly refusedBy: string | undefined;
  /** Reason of a node that refuses this process because it has accepted another one of this node (TP12). */
  readonly otherProcess: string | undefined;
}

/** Limits the number of nodes, because an unknown connection may name any node. */
const NODES_MAX = 256;
const NOTES_MAX = 100;
const MS_PER_SECOND = 1000;
const UNKNOWN = 'unknown';
/** A node dials again every 3 s. */
const SIGN_MS = 30_000;

/** A sentence that holds until a time. */
interface Sign {
  readonly why: string;
  readonly untilMs: number;
}

/** Gathers in the core's thread. */
export class PeerMeasureGatherer implements PeerObserver, SnapshotObserver {
  #nodes = new Map<NodeId | undefined, NodeMeasures>();
  #notes: PeerNote[] = [];
  #begun: SnapshotFacts[] = [];
  #endings: SnapshotEnding[] = [];
  #membersBehind = 0;
  #beatFailures = 0;
  #drops = new Map<DropReason, number>();
  #stops = 0;
  #dialled: Sign | undefined;
  #refused: Sign | undefined;
  #duplicate: Sign | undefined;
  readonly #reached = new Set<NodeId>();

  sent(node: NodeId, bytes: number): void {
    this.#of(node).sentBytes += bytes;
  }

  sendFailed(node: NodeId, hadBeats: boolean): void {
    this.#of(node).sentFailures += 1;
    if (hadBeats) this.#beatFailures += 1;
  }

  received(node: NodeId, bytes: number): void {
    this.#of(node).receivedBytes += bytes;
  }

  receiveFailed(node: NodeId | undefined, { kind, words }: FrameFault): void {
    if (kind === 'cluster') {
      this.#dialled = signOf(`Node ${node ?? 'unknown'} of another cluster dials the address of this node: ${words}`);
    }
    this.#of(node).receivedFailures += 1;
    this.#drops.set(kind, (this.#drops.get(kind) ?? 0) + 1);
  }

  stoppedReading(): void {
    this.#stops += 1;
  }

  active(node: NodeId, isActive: boolean): void {
    this.#of(node).isActive = isActive;
    if (isActive) this.#reached.add(node);
    else this.#reached.delete(node);
  }

  refuses(node: NodeId, reason: string): void {
    this.#refused = signOf(`Every node that this one reaches refuses it; node ${node}: ${reason}`);
  }

  duplicate(reason: string | undefined): void {
    this.#duplicate = reason === undefined ? undefined : signOf(reason);
  }

  roundTrip(node: NodeId, elapsedMs: number): void {
    this.#of(node).roundTripsMs.push(elapsedMs);
  }

  note(note: PeerNote): void {
    if (this.#notes.length < NOTES_MAX) this.#notes.push(note);
  }

  snapshotBegan(facts: SnapshotFacts): void {
    if (this.#begun.length < NOTES_MAX) this.#begun.push(facts);
  }

  snapshotMoved(way: SnapshotWay, node: NodeId, bytes: number): void {
    this.#of(node).snapshotBytes[way] += bytes;
  }

  snapshotEnded(ending: SnapshotEnding): void {
    if (this.#endings.length < NOTES_MAX) this.#endings.push(ending);
  }

  membersBehind(count: number): void {
    this.#membersBehind = count;
  }

  /** A sentence with both cluster ids; undefined when no node of another cluster dialled this one within 30 s. */
  get otherCluster(): string | undefined {
    return wordsOf(this.#dialled);
  }

  /** Reason of a node that refuses this process because it has accepted another one of this node (TP12). */
  get otherProcess(): string | undefined {
    return wordsOf(this.#duplicate);
  }

  /**
   * Reason of a node that refused this one within 30 s; undefined while any node accepts this one, unless another one
   * has accepted a second process of this node (TP12). A node that is down, starting or closing refuses nothing.
   */
  get refusedBy(): string | undefined {
    const { otherProcess } = this;
    if (otherProcess !== undefined) return `Another process of this node runs; ${otherProcess}`;
    return this.#reached.size > 0 ? undefined : wordsOf(this.#refused);
  }

  get signs(): PeerSigns {
    const { otherCluster, refusedBy, otherProcess } = this;
    return { otherCluster, refusedBy, otherProcess };
  }

  /** Everything collected since the last call. */
  take(): PeerMeasures {
    const measures = {
      nodes: this.#nodes,
      notes: this.#notes,
      begun: this.#begun,
      endings: this.#endings,
      membersBehind: this.#membersBehind,
      beatFailures: this.#beatFailures,
      drops: this.#drops,
      stops: this.#stops,
    };
    this.#nodes = new Map();
    this.#notes = [];
    this.#begun = [];
    this.#endings = [];
    this.#beatFailures = 0;
    this.#drops = new Map();
    this.#stops = 0;
    return measures;
  }

  #of(node: NodeId | undefined): NodeMeasures {
    const known = this.#nodes.get(node);
    if (known !== undefined) return known;
    if (node !== undefined && this.#nodes.size >= NODES_MAX) return this.#of(undefined);
    const measures = {
      sentBytes: 0,
      sentFailures: 0,
      receivedBytes: 0,
      receivedFailures: 0,
      isActive: undefined,
      snapshotBytes: { sent: 0, received: 0 },
      roundTripsMs: [],
    };
    this.#nodes.set(node, measures);
    return measures;
  }
}

function signOf(why: string): Sign {
  return { why, untilMs: performance.now() + SIGN_MS };
}

function wordsOf(sign: Sign | undefined): string | undefined {
  return sign !== undefined && performance.now() < sign.untilMs ? sign.why : undefined;
}

/**
 * Exports the collected values in the front. A removed node has no series; its later frames count for an unknown node.
 */
export class PeerMetrics {
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  readonly #removed = new Set<NodeId>();

  constructor(metrics: Metrics, logger: Logger) {
    this.#metrics = metrics;
    this.#logger = logger;
  }

  forget(node: NodeId): void {
    this.#removed.add(node);
    this.#metrics.forgetPeer(String(node));
  }

  show({ nodes, notes, begun, endings, membersBehind, beatFailures, drops, stops }: PeerMeasures): void {
    const [metrics, logger] = [this.#metrics, this.#logger];
    metrics.gauge('cairn_raft_members_behind', {}).set(membersBehind);
    metrics.counter('cairn_raft_heartbeat_send_failures_total', {}).add(beatFailures);
    metrics.counter('cairn_peer_reading_stopped_total', {}).add(stops);
    for (const [reason, count] of drops) metrics.counter('cairn_peer_dropped_frames_total', { reason }).add(count);
    for (const { way, group, node } of begun) logger.info('snapshot-begins', { way, group, peer: node });
    for (const ending of endings) showEnding(metrics, logger, ending);
    for (const [node, measures] of nodes) {
      if (node === undefined) show(metrics, UNKNOWN, measures);
      else if (this.#removed.has(node)) show(metrics, UNKNOWN, { ...measures, isActive: undefined, roundTripsMs: [] });
      else show(metrics, String(node), measures);
    }
    for (const { event, node, reason } of notes) {
      const fields = { ...(node === undefined ? {} : { peer: node }), reason };
      if (event === 'peer-reached') logger.info(event, fields);
      else logger.warn(event, fields);
    }
  }
}

function show(metrics: Metrics, peer: string, measures: Readonly<NodeMeasures>): void {
  metrics.counter('cairn_peer_sent_bytes_total', { peer }).add(measures.sentBytes);
  metrics.counter('cairn_peer_received_bytes_total', { peer }).add(measures.receivedBytes);
  metrics.counter('cairn_peer_sent_failures_total', { peer }).add(measures.sentFailures);
  metrics.counter('cairn_peer_received_failures_total', { peer }).add(measures.receivedFailures);
  const { sent, received } = measures.snapshotBytes;
  metrics.counter('cairn_raft_snapshot_bytes_total', { peer, way: 'sent' }).add(sent);
  metrics.counter('cairn_raft_snapshot_bytes_total', { peer, way: 'received' }).add(received);
  if (measures.isActive !== undefined) metrics.gauge('cairn_peer_active', { peer }).set(measures.isActive ? 1 : 0);
  const trips = metrics.histogram('cairn_peer_round_trip_time_seconds', { peer });
  for (const elapsedMs of measures.roundTripsMs) trips.observe(elapsedMs / MS_PER_SECOND);
}

function showEnding(
  metrics: Metrics,
  logger: Logger,
  { way, group, node, fault, bytes, elapsedMs }: SnapshotEnding,
): void {
  const fields = { way, group, peer: node, bytes, elapsed_ms: Math.round(elapsedMs) };
  if (fault === undefined) {
    metrics.histogram('cairn_raft_snapshot_duration_seconds', { way }).observe(elapsedMs / MS_PER_SECOND);
    logger.info('snapshot-ends', fields);
  } else {
    metrics.counter('cairn_raft_snapshot_failures_total', { way }).add(1);
    logger.warn('snapshot-fails', { ...fields, reason: fault });
  }
}
