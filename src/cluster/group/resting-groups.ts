/**
 * The groups of this node in which nothing happens, all of them together: what they hear of another node and say to it
 * goes by tables that repeat (heard-rows.ts) and refrains, whose times are the node's and not a group's.
 *
 * ```
 *   leader here     beats of all of them to a node  ── refrain, every beat ──>   followers there
 *                   answers: the same table again   <── refrain ──────────────
 * ```
 *   C31  A table that says the same as the one before is to a group at rest what the message in its row would be, and
 *        changes nothing but times (R14). A group rests only upon a row that it has just repeated, as long as its state
 *        is the one that it was repeated in. Whatever reaches it by itself, a change or the end of its row, and its own
 *        end wake it; and the silence of a node wakes those who rest upon what it says before they would have to act.
 */
import type { GroupId, NodeId } from '#base';
import { type Input, nextBeatAt, REPLICATION } from '#raft';
import type { CoreLimits } from '../limits.ts';
import type { Envelope } from '../peer/envelope.ts';
import type { HeardTables } from '../peer/peer-codec.ts';
import { Refrain, type Refrains } from '../peer/refrain.ts';
import type { Group } from './group.ts';
import type { RestPlace } from './group-rest.ts';
import type { GroupTimers } from './group-timers.ts';
import { HeardRows, type RowsOfTable } from './heard-rows.ts';

export interface RestingPorts {
  readonly limits: Pick<CoreLimits, 'electionWindowMs'>;
  readonly timers: GroupTimers;
  readonly find: (id: GroupId) => Group | undefined;
  readonly step: (group: Group, input: Input) => void;
  /** Hands a message to the replica that it is for. */
  readonly deliver: (from: NodeId, envelope: Envelope) => void;
  /** Says these to the node at the end of the turn. */
  readonly recite: (to: NodeId, refrains: Refrains) => void;
}

interface Pair extends RestPlace {
  readonly beats: HeardRows<Group>;
  readonly answers: HeardRows<Group>;
}

export class RestingGroups {
  readonly #ports: RestingPorts;
  readonly #pairs = new Map<NodeId, Pair>();
  /** The beats of all groups at rest that are led here. */
  readonly #saying = { count: 0, lastMs: 0 };
  #beatMs = 0;

  constructor(ports: RestingPorts) {
    this.#ports = ports;
  }

  /** The nodes that are told the beats of groups at rest. */
  get told(): readonly NodeId[] {
    return [...this.#pairs].flatMap(([node, { saysBeats }]) => (saysBeats.rows.size > 0 ? [node] : []));
  }

  /** When `tick` is next worth calling; undefined when no group is at rest. */
  get deadlineMs(): number | undefined {
    let first = Number.POSITIVE_INFINITY;
    for (const { beats, answers, saysBeats } of this.#pairs.values()) {
      if (saysBeats.rows.size > 0) first = Math.min(first, this.#beatMs);
      for (const rows of [beats, answers]) if (rows.restingCount > 0) first = Math.min(first, this.#endOf(rows));
    }
    return Number.isFinite(first) ? first : undefined;
  }

  /** Takes in what another node says in tables. */
  hear(from: NodeId, { beats, answers }: HeardTables, nowMs: number): void {
    const pair = this.#pairWith(from);
    if (beats !== undefined) {
      this.#give(from, pair.beats, beats, nowMs);
      if (pair.saysAnswers.rows.size > 0) this.#ports.recite(from, { answers: pair.saysAnswers });
    }
    if (answers !== undefined) this.#give(from, pair.answers, answers, nowMs);
  }

  /** What the node has said counts no more: whoever rests upon it wakes, and its next table is the first of it. */
  forget(from: NodeId): void {
    const pair = this.#pairs.get(from);
    if (pair === undefined) return;
    for (const { resting } of [pair.beats, pair.answers]) for (const group of resting) this.#wake(group);
    this.#pairs.delete(from);
  }

  /** The group, which leads, has just said once more what it says: its node goes on with it, if it may. */
  join(group: Group): void {
    group.joinRefrains(this.#saying, (node) => this.#pairWith(node));
  }

  /** Wakes whoever heard nothing for a window, and says the beats of all others when it is time for them. */
  tick(nowMs: number): void {
    const { timers, step } = this.#ports;
    // What has arrived while this thread stood still is heard before time counts (C10).
    if (timers.isHeldUp) return;
    if (this.#wakeUnheard(nowMs)) for (const group of timers.due(nowMs)) step(group, { kind: 'tick' });
    if (nowMs < this.#beatMs) return;
    this.#beatMs = nextBeatAt(nowMs, REPLICATION.beatMs);
    this.#saying.count += 1;
    this.#saying.lastMs = nowMs;
    for (const [node, { saysBeats }] of this.#pairs) {
      if (saysBeats.rows.size > 0) this.#ports.recite(node, { beats: saysBeats });
    }
  }

  #give(from: NodeId, heard: Pair['beats'], table: RowsOfTable, nowMs: number): void {
    const { deliver, find } = this.#ports;
    const { changed, unchanged } = heard.hear(table, nowMs, (group) => this.#wake(group));
    for (const row of changed) deliver(from, row);
    for (const row of unchanged) {
      deliver(from, row);
      const group = find(row.group);
      if (group?.restUpon(row, this.#pairWith(from)) === true) heard.rest(group);
    }
  }

  #wakeUnheard(nowMs: number): boolean {
    let hasWoken = false;
    for (const { beats, answers } of this.#pairs.values()) {
      for (const rows of [beats, answers]) {
        if (rows.restingCount === 0 || nowMs < this.#endOf(rows)) continue;
        for (const group of rows.resting) this.#wake(group);
        hasWoken = true;
      }
    }
    return hasWoken;
  }

  #wake(group: Group): void {
    group.leaveRest();
    this.#ports.timers.stepped(group);
  }

  /** Nobody who rests upon these has to act before. */
  #endOf({ lastMs }: Pair['beats']): number {
    return lastMs + this.#ports.limits.electionWindowMs;
  }

  #pairWith(node: NodeId): Pair {
    const known = this.#pairs.get(node);
    if (known !== undefined) return known;
    const pair: Pair = {
      beats: new HeardRows(),
      answers: new HeardRows(),
      saysBeats: new Refrain(),
      saysAnswers: new Refrain(),
    };
    this.#pairs.set(node, pair);
    return pair;
  }
}
