/**
 * How far the wall clock of this node is from those of its peers, as NTP measures it.
 *
 * ```
 *   clock-ask   this node's monotonic time ──────────────> peer
 *   clock-told  that time, the peer's wall clock <──────── peer
 * ```
 * The peer read its clock somewhere in the round trip, so the offset is known to half of that, and counts as the least
 * that it may be. What is kept is the peer's wall clock against this node's monotonic time: when this node's wall clock
 * is set, every offset changes at once. Peers are asked once a second.
 *
 *   C41  A node stamps nothing, creates no database, and hands over what others can lead while its clock is farther than
 *        `clockSkewMsMax` from the median of its own and its peers', until it is within half of that. Of an even number
 *        the earlier of the two in the middle counts, for a time that is ahead stays recorded, and one behind does not.
 *        A node that has measured nobody goes by its own clock.
 */
import type { Clock, NodeId } from '#base';
import type { CoreLimits } from '../limits.ts';
import type { ClockItem } from '../peer/forward.ts';

export interface PeerClocksPorts {
  readonly limits: Pick<CoreLimits, 'clockAskMs' | 'clockSkewMsMax' | 'clockKeptMs'>;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly others: () => Iterable<NodeId>;
  /** The feature level of the cluster. */
  readonly level: () => number;
  readonly post: (to: NodeId, item: ClockItem) => void;
}

/** What is known of the clock of a peer. */
interface Sample {
  /** Its wall clock when the monotonic clock here was 0. */
  readonly epochMs: number;
  /** To either side. */
  readonly errorMs: number;
  readonly atMs: number;
}

/** How the clock of this node is. */
export interface ClockStanding {
  /** Of this node before the median, in milliseconds; 0 while nobody is measured. */
  readonly aheadMs: number;
  readonly isFar: boolean;
  /** By how much the wall clock was set since the process began, in each step that was too large. */
  readonly jumpedMs: number;
  /** Of this node before each peer. */
  readonly peers: ReadonlyMap<NodeId, number>;
}

/** A node that does not know clock messages drops the frame, with the requests in it. */
const LEVEL = 5;

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

  /** A way leads to the node: its clock is known before it can vote for this one. */
  reached(node: NodeId): void {
    this.#ask(node);
  }

  heard(node: NodeId, item: ClockItem): void {
    const { post, clock } = this.#ports;
    if (item.kind === 'clock-told') this.#take(node, item);
    else post(node, { kind: 'clock-told', askedMs: item.askedMs, wallMs: Math.max(0, clock.nowMs()) });
  }

  /** How far this node is ahead of the others, while it must stamp nothing (C41). */
  get farMs(): number | undefined {
    // Asked for every batch of every group, and there is nobody to differ from.
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
    if (this.#ports.level() < LEVEL) return;
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
    // Where the two cannot both be true its clock was set in between.
    const isSet = kept !== undefined && Math.abs(kept.epochMs - sample.epochMs) > kept.errorMs + errorMs + 1;
    const isBetter =
      kept === undefined || errorMs <= kept.errorMs || kept.atMs < atMs - this.#ports.limits.clockKeptMs / 2;
    if (isSet || isBetter) this.#samples.set(node, sample);
  }
}

/** How far this node is before the peer or after it, at the least. */
function leastAhead(ownEpochMs: number, { epochMs, errorMs }: Sample): number {
  const aheadMs = ownEpochMs - epochMs;
  return Math.sign(aheadMs) * Math.max(0, Math.abs(aheadMs) - errorMs);
}
