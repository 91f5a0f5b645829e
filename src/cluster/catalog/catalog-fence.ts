/**
 * Determines when a deletion is past and may be acknowledged: no client of any node can be answered from the instance
 * any more.
 *
 * ```
 *   asker                       leader of the catalog                   every other node
 *     │ ── await-past i ──────────> │ ── await-shown i ─────────────────> │ its front has applied i
 *     │                             │ <──────────────────────── shown i ─ │
 *     │ <────────────────── past i ─│ ── past i ────────────────────────> │
 * ```
 * A node counts as long as it may hold a lease of the catalog from before the deletion (C21). It holds none when its
 * front has the catalog with the deletion, or when no message from it has arrived for so long that any lease has
 * expired: a lease needs a request to the leader, which is a message. Lost messages are repeated. No deletion waits
 * longer than `fenceMs` after it was applied here, because then every lease without it has expired.
 *
 *   C26  An outcome that reports an instance as gone, or its name as reused, is returned only when the last
 *        deletion of the name is past. Changes that reached the catalog without entries, at a start or by a snapshot,
 *        may include a deletion of any name.
 *   C27  A leader considers a deletion past when the front of every member, and of every member within the last
 *        `fenceMs`, shows it, or has sent nothing for `fenceMs`. The start of its leadership counts as a message from
 *        every node, because no previous leader could confirm a read later.
 */
import { type LogIndex, type NodeId, toLogIndex, unreachable } from '#base';
import type { CoreLimits } from '../limits.ts';
import type { Settlement } from '../link.ts';
import type { CatalogChange } from '../node.ts';
import type { Binding } from '../outcome.ts';
import type { FenceItem } from '../peer/forward.ts';

/** The view of the catalog group on this node. */
export interface FenceView {
  readonly nowMs: number;
  /** Index up to which the catalog is in the store. */
  readonly written: LogIndex;
  /** The other members of the group. */
  readonly members: readonly NodeId[];
  /** For a leader: time of the last message of each node. */
  readonly heardMs: ((node: NodeId) => number) | undefined;
  /** The other node that leads, if it is known. */
  readonly leader: NodeId | undefined;
}

export interface FencePorts {
  readonly view: () => FenceView;
  readonly limits: Pick<CoreLimits, 'fenceMs' | 'fenceAskMs'>;
  readonly post: (to: NodeId, item: FenceItem) => void;
  /** Reports outcomes to the front. */
  readonly tell: (settlements: readonly Settlement[]) => void;
}

/** An index of the catalog log, and when it was reached here. */
interface Moment {
  readonly index: number;
  readonly atMs: number;
}

const BEGINNING: Moment = { index: 0, atMs: Number.NEGATIVE_INFINITY };

interface Held {
  readonly settlement: Settlement;
  readonly index: number;
  readonly endMs: number;
}

export class CatalogFence {
  readonly #ports: FencePorts;
  /** Up to here anything may have been deleted without an entry that this node has seen. */
  #unknown: Moment = BEGINNING;
  /** The last deletion of each name that is not past, oldest first; and of any name. */
  readonly #deletions = new Map<string, Moment>();
  #latest: Moment = BEGINNING;
  /** Deletions up to here are past. */
  #past = 0;
  #held: readonly Held[] = [];
  /** Index of the catalog that clients of other nodes see, as far as the nodes have reported it. */
  readonly #shown = new Map<NodeId, number>();
  /** The last change that was sent to this node's front, and the last one that the front has applied. */
  #sentToFront = 0;
  #shownHere = 0;
  #hasFront = true;
  /** The last known members, and the former ones with the time when they left. */
  #members: readonly NodeId[] = [];
  readonly #left = new Map<NodeId, number>();
  /** For a leader: the index that is waited for, and since when; and the last index that it has announced as past. */
  #wanted: Moment | undefined;
  #said = 0;
  /** Index that a leader has asked for. */
  #asked: (Moment & { readonly by: NodeId }) | undefined;
  #askMs = 0;

  constructor(ports: FencePorts) {
    this.#ports = ports;
  }

  /** Number of delayed outcomes. */
  get count(): number {
    return this.#held.length;
  }

  /** Time of the next retry or timeout; undefined when nothing waits. */
  get deadlineMs(): number | undefined {
    return this.#isBusy ? this.#askMs : undefined;
  }

  /**
   * The catalog has reached this index without its entries: from the store at a start, or by a snapshot. `registered`:
   * the other nodes that it knows, any of which may have been a member of the group a moment ago.
   */
  skipped(to: Moment, registered: readonly NodeId[]): void {
    this.#unknown = to;
    this.#latest = to;
    for (const node of registered) if (!this.#members.includes(node)) this.#left.set(node, to.atMs);
  }

  /** A change of the catalog is applied. */
  note(change: CatalogChange, moment: Moment): void {
    switch (change.kind) {
      case 'deleted':
        return this.#noteDeletion(change.binding, moment);
      case 'created':
      case 'moved':
      case 'registered':
      case 'raised':
      case 'key-kept':
      case 'key-removed':
        return;
      default:
        unreachable(change);
    }
  }

  #noteDeletion({ name }: Binding, moment: Moment): void {
    this.#deletions.delete(name);
    this.#deletions.set(name, moment);
    this.#latest = moment;
    this.#want(moment);
  }

  /** The catalog up to this index was sent to the front. */
  sentToFront(index: LogIndex): void {
    this.#sentToFront = index;
  }

  /** The front has applied the catalog up to this index. */
  shownHere(index: number): void {
    this.#shownHere = Math.max(this.#shownHere, index);
  }

  /** The front answers no more requests. */
  closeFront(): void {
    this.#hasFront = false;
  }

  /** Returns whether the last known deletion of the name is past. */
  isPast(name: string): boolean {
    return this.#isOver(this.#deletions.get(name) ?? this.#unknown, this.#ports.view());
  }

  /** Reports outcomes whose rows are in the store, each as soon as it may be reported. */
  settle(settlements: readonly Settlement[]): void {
    const free: Settlement[] = [];
    const held: Held[] = [];
    for (const settlement of settlements) {
      const need = this.#needOf(settlement);
      if (need === undefined) free.push(settlement);
      else held.push({ settlement, index: need.index, endMs: need.atMs + this.#ports.limits.fenceMs });
    }
    if (free.length > 0) this.#ports.tell(free);
    if (held.length === 0) return;
    this.#held = [...this.#held, ...held];
    this.#askMs = 0;
    this.advance();
  }

  /** Handles a message of another node. */
  take(from: NodeId, { kind, index }: FenceItem): void {
    const view = this.#ports.view();
    switch (kind) {
      case 'await-shown':
        this.#asked = { by: from, index, atMs: view.nowMs };
        break;
      case 'shown':
        this.#shown.set(from, Math.max(index, this.#shown.get(from) ?? 0));
        break;
      case 'await-past':
        if (view.heardMs !== undefined && index <= view.written) this.#awaited(from, index, view);
        break;
      case 'past':
        // The leader may be ahead of this node, which asks again then.
        this.#past = Math.max(this.#past, Math.min(index, view.written));
        break;
    }
  }

  /** Sends pending messages and answers. Called at the end of each turn, and as time passes. */
  advance(): void {
    const view = this.#ports.view();
    this.#review(view);
    if (!this.#isBusy) return;
    this.#answer(view);
    if (view.heardMs !== undefined) this.#lead(view, view.heardMs);
    this.#release(view);
    if (view.nowMs >= this.#askMs) this.#ask(view);
  }

  get #isBusy(): boolean {
    return this.#held.length > 0 || this.#wanted !== undefined || this.#asked !== undefined;
  }

  /** Index of the catalog that clients of this node see: all of it, unless a change is on its way to the front. */
  #seenHere({ written }: FenceView): number {
    return this.#hasFront && this.#shownHere < this.#sentToFront ? this.#shownHere : written;
  }

  /** The deletion that must be past before the outcome is returned. If nothing is bound to the name, it may be any. */
  #needOf(settlement: Settlement): Moment | undefined {
    if (settlement.kind !== 'outcome') return undefined;
    const { outcome } = settlement;
    if (outcome.kind === 'absent') return this.#latest;
    if (outcome.kind !== 'created' && outcome.kind !== 'deleted') return undefined;
    return this.#deletions.get(outcome.binding.name) ?? this.#unknown;
  }

  #isOver({ index, atMs }: Moment, { nowMs }: FenceView): boolean {
    return index <= this.#past || nowMs >= atMs + this.#ports.limits.fenceMs;
  }

  #want(moment: Moment): void {
    if (this.#wanted !== undefined && this.#wanted.index >= moment.index) return;
    this.#wanted = moment;
    this.#askMs = 0;
  }

  #awaited(from: NodeId, index: number, view: FenceView): void {
    if (index <= this.#said) this.#ports.post(from, { kind: 'past', index: toLogIndex(this.#said) });
    else this.#want({ index, atMs: view.nowMs });
  }

  /** A former member may still hold a lease from before it left. */
  #review({ members, nowMs }: FenceView): void {
    if (members === this.#members) return;
    for (const node of this.#members) if (!members.includes(node)) this.#left.set(node, nowMs);
    for (const node of members) this.#left.delete(node);
    this.#members = members;
  }

  #answer(view: FenceView): void {
    const asked = this.#asked;
    if (asked === undefined) return;
    const index = this.#seenHere(view);
    // It will ask again.
    if (index >= asked.index || view.nowMs >= asked.atMs + this.#ports.limits.fenceMs) this.#asked = undefined;
    if (index >= asked.index) this.#ports.post(asked.by, { kind: 'shown', index: toLogIndex(index) });
  }

  #lead(view: FenceView, heardMs: (node: NodeId) => number): void {
    const { nowMs, written, members } = view;
    const sinceMs = nowMs - this.#ports.limits.fenceMs;
    for (const [node, leftMs] of this.#left) if (leftMs <= sinceMs) this.#left.delete(node);
    const counted = [...members.filter((node) => heardMs(node) > sinceMs), ...this.#left.keys()];
    const elsewhere = Math.min(written, ...counted.map((node) => this.#shown.get(node) ?? 0));
    // The front of this node has the changes before the answer (C6).
    this.#past = Math.max(this.#past, elsewhere);
    const everywhere = Math.min(elsewhere, this.#seenHere(view));
    if (everywhere > this.#said && this.#wanted !== undefined) {
      this.#said = everywhere;
      for (const node of members) this.#ports.post(node, { kind: 'past', index: toLogIndex(everywhere) });
    }
    // No request waits longer.
    if (this.#wanted !== undefined && (this.#wanted.index <= everywhere || this.#wanted.atMs <= sinceMs)) {
      this.#wanted = undefined;
    }
  }

  #release(view: FenceView): void {
    for (const [name, moment] of this.#deletions) {
      if (!this.#isOver(moment, view)) break;
      this.#deletions.delete(name);
    }
    const isFree = ({ index, endMs }: Held): boolean => index <= this.#past || view.nowMs >= endMs;
    const free = this.#held.filter(isFree);
    if (free.length === 0) return;
    this.#held = this.#held.filter((each) => !isFree(each));
    this.#ports.tell(free.map(({ settlement }) => settlement));
  }

  /** Asks the nodes that have not confirmed yet, repeatedly. */
  #ask({ nowMs, members, heardMs, leader }: FenceView): void {
    this.#askMs = nowMs + this.#ports.limits.fenceAskMs;
    const { post } = this.#ports;
    if (heardMs === undefined) {
      // Only a leader asks others; a new leader starts with an empty list.
      this.#wanted = undefined;
      const index = Math.max(0, ...this.#held.map((each) => each.index));
      if (leader !== undefined && index > 0) post(leader, { kind: 'await-past', index: toLogIndex(index) });
      return;
    }
    const index = Math.max(this.#wanted?.index ?? 0, ...this.#held.map((each) => each.index));
    for (const node of members) {
      if ((this.#shown.get(node) ?? 0) < index) post(node, { kind: 'await-shown', index: toLogIndex(index) });
    }
  }
}
