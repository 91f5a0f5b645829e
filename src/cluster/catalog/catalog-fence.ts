/**
 * When a deletion is past, so that whoever asked may be told: no client of any node is answered from the instance any
 * more.
 *
 * ```
 *   asker                       leader of the catalog                   every other node
 *     │ ── await-past i ──────────> │ ── await-shown i ─────────────────> │ its front has taken i in
 *     │                             │ <──────────────────────── shown i ─ │
 *     │ <────────────────── past i ─│ ── past i ────────────────────────> │
 * ```
 * A node counts as long as it may hold a lease of the catalog from before the deletion (C21). It holds none when its
 * front shows the catalog with it, or when nothing was heard of it for so long that any lease is over: whoever got one
 * had been heard, for its question had arrived. What is lost is asked again; and nobody waits longer than `fenceMs`
 * after the deletion was applied here, for then every lease that does not know of it is over, whoever gave it.
 *
 *   C26  An outcome that says that an instance is gone, or that its name has another one, is told when the last
 *        deletion of the name is past. What the catalog has come by without its entries, at a start or by a snapshot,
 *        may have been a deletion of any name.
 *   C27  A leader takes a deletion for past when the front of every member, and of whoever was one within `fenceMs`,
 *        shows it, or was not heard of for `fenceMs`; its lead's beginning counts as having heard of everybody, for no
 *        leader before it could confirm a read after that.
 */
import { type LogIndex, type NodeId, toLogIndex, unreachable } from '#base';
import type { CoreLimits } from '../limits.ts';
import type { CatalogChange } from '../node.ts';
import type { Binding } from '../outcome.ts';
import type { FenceItem } from '../peer/forward.ts';
import type { Settlement } from '../thread/link.ts';

/** What the group of the catalog is to this node now. */
export interface FenceView {
  readonly nowMs: number;
  /** The catalog in the store goes up to here. */
  readonly written: LogIndex;
  /** The other nodes that belong to the group. */
  readonly members: readonly NodeId[];
  /** Of a leader: when each of them was heard of last. */
  readonly heardMs: ((node: NodeId) => number) | undefined;
  /** The other node that leads, if it is known. */
  readonly leader: NodeId | undefined;
}

export interface FencePorts {
  readonly view: () => FenceView;
  readonly limits: Pick<CoreLimits, 'fenceMs' | 'fenceAskMs'>;
  readonly post: (to: NodeId, item: FenceItem) => void;
  /** Tells the front. */
  readonly tell: (settlements: readonly Settlement[]) => void;
}

/** A place in the log of the catalog, and when it was reached here. */
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
  /** Up to here anything may have been deleted, without this node's knowing. */
  #unknown: Moment = BEGINNING;
  /** The last deletion of each name, oldest first, as long as it is not past; and of any name. */
  readonly #deletions = new Map<string, Moment>();
  #latest: Moment = BEGINNING;
  /** Deletions up to here are past. */
  #past = 0;
  #held: readonly Held[] = [];
  /** How far the clients of other nodes see the catalog, as far as those have said so. */
  readonly #shown = new Map<NodeId, number>();
  /** The last change that this node's front was told of, and that it has taken in. */
  #told = 0;
  #shownHere = 0;
  #hasFront = true;
  /** Who belonged to the group last, and since when others do not any more. */
  #members: readonly NodeId[] = [];
  readonly #left = new Map<NodeId, number>();
  /** A leader: what somebody waits for, and since when; how far it has said that deletions are past. */
  #wanted: Moment | undefined;
  #said = 0;
  /** What a leader wants to be told. */
  #asked: (Moment & { readonly by: NodeId }) | undefined;
  #askMs = 0;

  constructor(ports: FencePorts) {
    this.#ports = ports;
  }

  /** Outcomes that are not told yet. */
  get count(): number {
    return this.#held.length;
  }

  /** When there is something to ask again, or to give up waiting for; undefined while nobody waits. */
  get deadlineMs(): number | undefined {
    return this.#isBusy ? this.#askMs : undefined;
  }

  /**
   * The catalog has come up to there without its entries: from the store, at the beginning, or by a snapshot.
   * `registered`: the other nodes that it knows, any of which may have been a member of its group a moment ago.
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

  /** The front is told of the catalog up to here. */
  told(index: LogIndex): void {
    this.#told = index;
  }

  /** The front has taken it in. */
  shownHere(index: number): void {
    this.#shownHere = Math.max(this.#shownHere, index);
  }

  /** The front answers nobody any more. */
  closeFront(): void {
    this.#hasFront = false;
  }

  /** Whether the last deletion of the name is past, as far as this node knows of any. */
  isPast(name: string): boolean {
    return this.#isOver(this.#deletions.get(name) ?? this.#unknown, this.#ports.view());
  }

  /** Tells outcomes whose rows are in the store, each as soon as it may be told. */
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

  /** Takes in what another node of the cluster says. */
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
        // Whoever leads may be further than this node, which asks again then.
        this.#past = Math.max(this.#past, Math.min(index, view.written));
        break;
    }
  }

  /** Tells and asks whatever there is to tell and to ask. Called at the end of each turn, and as time passes. */
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

  /** How far the clients of this node see the catalog: all of it, unless something is on its way to the front. */
  #seenHere({ written }: FenceView): number {
    return this.#hasFront && this.#shownHere < this.#told ? this.#shownHere : written;
  }

  /** What must be past before the outcome is told. A name to which nothing is bound may be any. */
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

  /** Whoever does not belong to the group any more may hold a lease from when he did. */
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
    // It asks again.
    if (index >= asked.index || view.nowMs >= asked.atMs + this.#ports.limits.fenceMs) this.#asked = undefined;
    if (index >= asked.index) this.#ports.post(asked.by, { kind: 'shown', index: toLogIndex(index) });
  }

  #lead(view: FenceView, heardMs: (node: NodeId) => number): void {
    const { nowMs, written, members } = view;
    const sinceMs = nowMs - this.#ports.limits.fenceMs;
    for (const [node, leftMs] of this.#left) if (leftMs <= sinceMs) this.#left.delete(node);
    const counted = [...members.filter((node) => heardMs(node) > sinceMs), ...this.#left.keys()];
    const elsewhere = Math.min(written, ...counted.map((node) => this.#shown.get(node) ?? 0));
    // Whoever asked here has the changes before the answer (C6).
    this.#past = Math.max(this.#past, elsewhere);
    const everywhere = Math.min(elsewhere, this.#seenHere(view));
    if (everywhere > this.#said && this.#wanted !== undefined) {
      this.#said = everywhere;
      for (const node of members) this.#ports.post(node, { kind: 'past', index: toLogIndex(everywhere) });
    }
    // Nobody waits any longer than that.
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

  /** Asks those who have not said it yet, now and again. */
  #ask({ nowMs, members, heardMs, leader }: FenceView): void {
    this.#askMs = nowMs + this.#ports.limits.fenceAskMs;
    const { post } = this.#ports;
    if (heardMs === undefined) {
      // Only a leader asks others; it has its own list when it is one.
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
