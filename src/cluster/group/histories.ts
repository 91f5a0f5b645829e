/**
 * Replicas compare their histories: terms of the log do not show that a restored disk has led to other entries in the
 * same terms, or that a replica has applied the same entries to another state.
 *
 *   follower                                   leader
 *     compare: my position   ------------------->   has that: same, or differs
 *              <-------------------------------     lags: compare, with its own position
 *
 * A follower asks when it has a new leader, and when it has written something since its last request, about once a
 * second; an idle group sends nothing. Messages may be lost; a request without an answer is repeated.
 */
import { compareBytes, type NodeId, nodeOf, type ReplicaId } from '#base';
import type { HistoryVerdict } from '#database';
import type { EntryId, Fact } from '#raft';
import type { HistoryItem } from '../peer/forward.ts';
import { type Divergences, differenceOf } from './divergences.ts';
import type { Group } from './group.ts';
import type { GroupPorts } from './group-ports.ts';

export interface HistoriesPorts extends Pick<GroupPorts, 'node' | 'kv' | 'machines' | 'find' | 'post' | 'step'> {
  readonly divergences: Pick<Divergences, 'found'>;
}

type AcknowledgedLost = Extract<Fact, { readonly kind: 'acknowledged-lost' }>;

const LOOK_MS = 1000;
const REQUEST_TIMEOUT_MS = 2500;
/** Maximum number of requests per tick: each costs its leader up to one read of a record. */
const ASKS_MAX = 128;

export class Histories {
  readonly #ports: HistoriesPorts;
  /** Groups with state that was not compared yet. */
  readonly #due = new Set<Group>();
  /** Groups with a pending request, and its time. */
  readonly #asked = new Map<Group, number>();
  /** Entries that members of groups led here had acknowledged and have lost. */
  readonly #lost = new Map<Group, Map<ReplicaId, EntryId>>();
  #lookMs = 0;

  constructor(ports: HistoriesPorts) {
    this.#ports = ports;
  }

  /** Next time to call `tick`; undefined when there is nothing to compare. */
  get deadlineMs(): number | undefined {
    return this.#due.size + this.#asked.size === 0 ? undefined : this.#lookMs;
  }

  note(group: Group, fact: Fact): void {
    if (fact.kind === 'acknowledged-lost') this.#lose(group, fact);
    if (fact.kind === 'became-follower' && fact.leader !== undefined) this.#due.add(group);
  }

  /** More state of the group is in the store. */
  written(group: Group): void {
    if (!group.leads && !group.isAlone) this.#due.add(group);
  }

  forget(group: Group): void {
    this.#due.delete(group);
    this.#asked.delete(group);
    this.#lost.delete(group);
  }

  tick(nowMs: number): void {
    if (nowMs < this.#lookMs) return;
    this.#lookMs = nowMs + LOOK_MS;
    for (const [group, askedMs] of this.#asked) {
      if (nowMs - askedMs < REQUEST_TIMEOUT_MS) continue;
      this.#asked.delete(group);
      this.#due.add(group);
    }
    let left = ASKS_MAX;
    for (const group of this.#due) {
      if (left === 0) break;
      this.#due.delete(group);
      if (!this.#ask(group)) continue;
      this.#asked.set(group, nowMs);
      left -= 1;
    }
  }

  /** Handles a message about a history. */
  take(from: NodeId, item: HistoryItem): void {
    const group = this.#ports.find(item.group);
    if (group?.isOpen !== true || group.timeless.hardState.term !== item.term) return;
    if (item.replica !== group.self) return this.#answer(group, from, item);
    const { leader } = group;
    if (leader === undefined || group.leads || nodeOf(leader) !== from) return;
    if (item.kind === 'same') this.#asked.delete(group);
    else if (item.kind === 'differs') this.#ports.divergences.found(group, from, item.reason);
    else if (item.kind === 'acknowledged') this.#ports.step(group, { kind: 'owe', acknowledged: item.acknowledged });
    else this.#compareWithLeader(group, from, item.standing);
  }

  /** Reports lost entries to the member until it has acknowledged them again, because it may have restarted. */
  #lose(group: Group, { replica, acknowledged }: AcknowledgedLost): void {
    if (replica === group.self) return;
    const lost = this.#lost.get(group) ?? new Map<ReplicaId, EntryId>();
    this.#lost.set(group, lost.set(replica, acknowledged));
    this.#remind(group, replica);
  }

  #remind(group: Group, replica: ReplicaId): void {
    const lost = this.#lost.get(group);
    const acknowledged = lost?.get(replica);
    const { role, hardState } = group.timeless;
    const match = role.kind === 'leader' ? role.peers.get(replica)?.progress.match : undefined;
    if (acknowledged === undefined) return;
    const { term } = hardState;
    if (match === undefined || match >= acknowledged.index) lost?.delete(replica);
    else this.#ports.post(nodeOf(replica), { kind: 'acknowledged', group: group.id, replica, term, acknowledged });
  }

  #ask(group: Group): boolean {
    const { leader, self, timeless, machine, id } = group;
    if (!group.isOpen || group.leads || leader === undefined || group.isInstalling) return false;
    const { term } = timeless.hardState;
    const { standing } = machine;
    this.#ports.post(nodeOf(leader), { kind: 'compare', group: id, replica: self, term, standing });
    return true;
  }

  #compareWithLeader(group: Group, leader: NodeId, standing: Uint8Array): void {
    const verdict = this.#compare(group, standing);
    if (verdict === 'same') this.#asked.delete(group);
    else if (verdict !== 'beyond') {
      const { what, here, there } = verdict;
      const reason = differenceOf(what, { node: this.#ports.node, value: here }, { node: leader, value: there });
      this.#ports.divergences.found(group, leader, reason);
    }
  }

  /** Answers a member of a group that this node leads. */
  #answer(group: Group, from: NodeId, item: HistoryItem): void {
    const { role } = group.timeless;
    const isMember = role.kind === 'leader' && role.peers.has(item.replica) && nodeOf(item.replica) === from;
    if (!isMember || item.kind !== 'compare') return;
    this.#remind(group, item.replica);
    const { post, node } = this.#ports;
    const { group: id, replica, term } = item;
    const verdict = this.#compare(group, item.standing);
    if (verdict === 'same') return post(from, { kind: 'same', group: id, replica, term });
    if (verdict === 'beyond') {
      return post(from, { kind: 'compare', group: id, replica, term, standing: group.machine.standing });
    }
    const { what, here, there } = verdict;
    const reason = differenceOf(what, { node: from, value: there }, { node, value: here });
    post(from, { kind: 'differs', group: id, replica, term, reason });
  }

  #compare({ id, machine }: Group, standing: Uint8Array): HistoryVerdict {
    if (compareBytes(machine.standing, standing) === 0) return 'same';
    return this.#ports.machines.compareHistory(this.#ports.kv, id, machine, standing);
  }
}
