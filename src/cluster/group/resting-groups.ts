/**
 * All idle groups of this node, "at rest": their messages to and from another node are rows of tables (sent-table.ts,
 * received-table.ts), which are encoded as differences, and timed per node instead of per group.
 *
 * ```
 *   leader here     heartbeats of all to a node      ── table, periodically ────> followers there
 *                   answers: an unchanged table      <── table ──────────────────
 * ```
 *   C31  For a group at rest, an unchanged table is equivalent to receiving the message in its row, and
 *        changes only times (R14). A group rests only on a row that it has just repeated, as long as its state
 *        is unchanged since then. An individual message, a change or the end of its row, and its own
 *        end wake it; a silent node wakes the groups that rest on its tables before they have to act.
 */
import type { NodeId } from '#base';
import { nextBeatAt, REPLICATION } from '#raft';
import type { ReceivedTables } from '../peer/peer-codec.ts';
import { SentTable } from '../peer/sent-table.ts';
import type { Group } from './group.ts';
import type { GroupPorts } from './group-ports.ts';
import type { RestPlace } from './group-rest.ts';
import { ReceivedTable, type RowsOfTable } from './received-table.ts';
import type { Replication } from './remote-members.ts';

export interface RestingPorts extends Pick<GroupPorts, 'limits' | 'timers' | 'find' | 'step'> {
  readonly replication: Pick<Replication, 'deliver' | 'outbox'>;
}

interface Pair extends RestPlace {
  readonly beats: ReceivedTable<Group>;
  readonly answers: ReceivedTable<Group>;
}

export class RestingGroups {
  readonly #ports: RestingPorts;
  readonly #pairs = new Map<NodeId, Pair>();
  /** Heartbeats of all groups at rest that this node leads. */
  readonly #sending = { count: 0, lastMs: 0 };
  #beatMs = 0;

  constructor(ports: RestingPorts) {
    this.#ports = ports;
  }

  /** Nodes that receive heartbeats of groups at rest. */
  get beatenPeers(): readonly NodeId[] {
    return [...this.#pairs].flatMap(([node, { sentBeats }]) => (sentBeats.rows.size > 0 ? [node] : []));
  }

  /** Next time to call `tick`; undefined when no group is at rest. */
  get deadlineMs(): number | undefined {
    let first = Number.POSITIVE_INFINITY;
    for (const { beats, answers, sentBeats } of this.#pairs.values()) {
      if (sentBeats.rows.size > 0) first = Math.min(first, this.#beatMs);
      for (const rows of [beats, answers]) if (rows.restingCount > 0) first = Math.min(first, this.#endOf(rows));
    }
    return Number.isFinite(first) ? first : undefined;
  }

  /** Processes the tables of another node. */
  hear(from: NodeId, { beats, answers }: ReceivedTables, nowMs: number): void {
    const pair = this.#pairWith(from);
    if (beats !== undefined) {
      this.#give(from, pair.beats, beats, nowMs);
      if (pair.sentAnswers.rows.size > 0) this.#ports.replication.outbox.repeat(from, { answers: pair.sentAnswers });
    }
    if (answers !== undefined) this.#give(from, pair.answers, answers, nowMs);
  }

  /** The connection of the node has ended: groups that rest on its tables wake, and its next table is a first one. */
  forget(from: NodeId): void {
    const pair = this.#pairs.get(from);
    if (pair === undefined) return;
    for (const { resting } of [pair.beats, pair.answers]) for (const group of resting) this.#wake(group);
    this.#pairs.delete(from);
  }

  /** The leading group has just repeated its heartbeats: its node sends them from now on, if possible. */
  join(group: Group): void {
    group.joinTables(this.#sending, (node) => this.#pairWith(node));
  }

  /** Wakes groups without a message for a window, and sends the heartbeats of all others when they are due. */
  tick(nowMs: number): void {
    const { timers, step } = this.#ports;
    // Messages that arrived while this thread was suspended are handled before timeouts (C10).
    if (timers.isHeldUp) return;
    if (this.#wakeUnheard(nowMs)) for (const group of timers.due(nowMs)) step(group, { kind: 'tick' });
    if (nowMs < this.#beatMs) return;
    this.#beatMs = nextBeatAt(nowMs, REPLICATION.beatMs);
    this.#sending.count += 1;
    this.#sending.lastMs = nowMs;
    for (const [node, { sentBeats }] of this.#pairs) {
      if (sentBeats.rows.size > 0) this.#ports.replication.outbox.repeat(node, { beats: sentBeats });
    }
  }

  #give(from: NodeId, heard: Pair['beats'], table: RowsOfTable, nowMs: number): void {
    const { replication, find } = this.#ports;
    const { changed, unchanged } = heard.hear(table, nowMs, (group) => this.#wake(group));
    for (const row of changed) replication.deliver(from, row);
    for (const row of unchanged) {
      replication.deliver(from, row);
      const group = find(row.group);
      if (group?.restOn(row, this.#pairWith(from)) === true) heard.rest(group);
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

  /** Time before which no group that rests upon these has to act. */
  #endOf({ lastMs }: Pair['beats']): number {
    return lastMs + this.#ports.limits.electionWindowMs;
  }

  #pairWith(node: NodeId): Pair {
    const known = this.#pairs.get(node);
    if (known !== undefined) return known;
    const pair: Pair = {
      beats: new ReceivedTable(),
      answers: new ReceivedTable(),
      sentBeats: new SentTable(),
      sentAnswers: new SentTable(),
    };
    this.#pairs.set(node, pair);
    return pair;
  }
}
