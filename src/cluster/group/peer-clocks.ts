/**
 * Measures the difference between the wall clock of this node and those of its peers, like NTP.
 *
 * ```
 *   clock-ask   this node's monotonic time ──────────────> peer
 *   clock-told  that time, the peer's wall clock <──────── peer
 * ```
 * The peer read its clock somewhere in the round trip, so the error of the offset is at most half of that; the lower
 * bound is used. The stored value is the peer's wall clock against this node's monotonic time, so that setting this
 * node's wall clock changes every offset at once. Peers are asked once a second.
 *
 *   C41  A node assigns no times, creates no database, and transfers its leaderships while its clock differs by more
 *        than `clockSkewMsMax` from the median of all clocks, until the difference is below half of that. Of an even
 *        number the earlier of the two in the middle counts, because a recorded time that is ahead is permanent. A node
 *        without measurements trusts its own clock.
 */
import type { Clock, NodeId } from '#base';
import type { CoreLimits } from '../limits.ts';
import type { ClockItem } from '../peer/forward.ts';

export interface PeerClocksPorts {
  readonly limits: Pick<CoreLimits, 'clockAskMs' | 'clockSkewMsMax' | 'clockKeptMs'>;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly others: () => Iterable<NodeId>;
  readonly post: (to: NodeId, item: ClockItem) => void;
}

/** A measurement of the clock of a peer. */
interface Sample {
  /** Its wall clock when the monotonic clock here was 0. */
  readonly epochMs: number;
  /** Error in both directions. */
  readonly errorMs: number;
  readonly atMs: number;
}

/** State of the clock of this node. */
export interface ClockStanding {
  /** Difference to the median, in milliseconds; 0 without measurements. */
  readonly aheadMs: number;
  readonly isFar: boolean;
  /** Steps by which the wall clock was set since the process started, if they were too large. */
  readonly jumpedMs: number;
  /** Difference to each peer. */
  readonly peers: ReadonlyMap<NodeId, number>;
}

export class PeerClocks {
  readonly #ports: PeerClocksPorts;
  readonly #samples = new Map<NodeId, Sample>();
  readonly #asked = new Map<NodeId, number>();
  #askMs = 0;
  #isFar = false;
  #ownEpochMs: number | undefined;
  #jumpedMs = 0;

  constructor(ports: PeerClocksPorts) {
    this.#ports = ports;
  }

  tick(nowMs: number): void {
    const { limits, others } = this.#ports;
    const epochMs = this.#epochMs;
    const stepMs = epochMs - (this.#ownEpochMs ?? epochMs);
    this.#ownEpochMs = epochMs;
    if (Math.abs(stepMs) > limits.clockSkewMsMax) this.#jumpedMs += stepMs;
    if (nowMs < this.#askMs) return;
    this.#askMs = nowMs + limits.clockAskMs;
    for (const [node, { atMs }] of this.#samples) if (atMs < nowMs - limits.clockKeptMs) this.#samples.delete(node);
    for (const node of others()) this.#ask(node);
  }

  /** A connection to the node exists: its clock is measured before it can vote for this one. */
  reached(node: NodeId): void {
    this.#ask(node);
  }

  heard(node: NodeId, item: ClockItem): void {
    const { post, clock } = this.#ports;
    if (item.kind === 'clock-told') this.#take(node, item);
    else post(node, { kind: 'clock-told', askedMs: item.askedMs, wallMs: Math.max(0, clock.nowMs()) });
  }

  /** Time by which this node is ahead of the others, while it must not assign times (C41). */
  get farMs(): number | undefined {
    // Called for every batch of every group; without peers there is no difference.
    if (this.#samples.size === 0) return undefined;
    const { isFar, aheadMs } = this.standing;
    return isFar ? aheadMs : undefined;
  }

  get standing(): ClockStanding {
    const { clockSkewMsMax } = this.#ports.limits;
    const epochMs = this.#epochMs;
    const peers = new Map(Array.from(this.#samples, ([node, sample]) => [node, leastAhead(epochMs, sample)]));
    // The clock of this node is 0 ahead of itself.
    const sorted = [0, ...peers.values()].toSorted((one, other) => other - one);
    const aheadMs = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
    this.#isFar = Math.abs(aheadMs) > (this.#isFar ? clockSkewMsMax / 2 : clockSkewMsMax);
    return { aheadMs, isFar: this.#isFar, jumpedMs: this.#jumpedMs, peers };
  }

  get #epochMs(): number {
    return this.#ports.clock.nowMs() - this.#ports.monotonicMs();
  }

  #ask(node: NodeId): void {
    const askedMs = Math.floor(this.#ports.monotonicMs());
    this.#asked.set(node, askedMs);
    this.#ports.post(node, { kind: 'clock-ask', askedMs });
  }

  #take(node: NodeId, { askedMs, wallMs }: Extract<ClockItem, { readonly kind: 'clock-told' }>): void {
    if (this.#asked.get(node) !== askedMs) return;
    this.#asked.delete(node);
    const atMs = this.#ports.monotonicMs();
    const errorMs = (atMs - askedMs) / 2;
    const sample = { epochMs: wallMs - askedMs - errorMs, errorMs, atMs };
    const kept = this.#samples.get(node);
    // If both measurements contradict each other, the peer's clock was set in between.
    const isSet = kept !== undefined && Math.abs(kept.epochMs - sample.epochMs) > kept.errorMs + errorMs + 1;
    const isBetter =
      kept === undefined || errorMs <= kept.errorMs || kept.atMs < atMs - this.#ports.limits.clockKeptMs / 2;
    if (isSet || isBetter) this.#samples.set(node, sample);
  }
}

/** Lower bound of the difference between this node and the peer, in either direction. */
function leastAhead(ownEpochMs: number, { epochMs, errorMs }: Sample): number {
  const aheadMs = ownEpochMs - epochMs;
  return Math.sign(aheadMs) * Math.max(0, Math.abs(aheadMs) - errorMs);
}
