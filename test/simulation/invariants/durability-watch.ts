// Compares the promises and applied entries of replicas with the content of their disks at that moment (disk-log.ts).
//
//   I6  a replica that acknowledges entries has the last of them on disk, as the leader of that term has it
//   I7  a replica that grants or requests a vote has the vote on disk
//   I8  a replica that applies an entry has it on disk
//   I9  an applied entry is on the disks of a majority of the voters, of both halves during a change; learners do
//       not count
//   I10 a replica makes no promises after its log has ended
//
// Disks that have lied meanwhile (bit rot, lost writes) are not checked.
import { type NodeId, nodeOf, toReplicaId } from '#base';
import type { DiskLog } from './disk-log.ts';
import type { Place, SaidEntry, SaidMessage, SaidVoters } from './raft-watch.ts';

/** A disk with its durable content. */
export interface WatchedDisk {
  readonly held: DiskLog;
  readonly hasLied: boolean;
}

interface GroupHistory {
  /** For the leader of each term, the terms of its entries by index, as it sent them. */
  readonly leaders: Map<number, Map<number, number>>;
  /** The highest index that any replica has applied. */
  appliedIndex: number;
  /** Voters since the last membership entry, and before it. */
  voters: SaidVoters | undefined;
  votersBefore: SaidVoters | undefined;
}

export class DurabilityWatch {
  readonly #onFault: (what: string) => void;
  readonly #disks = new Map<NodeId, WatchedDisk>();
  readonly #groups = new Map<number, GroupHistory>();
  /** Number of ends of the group's log at the first promise of each replica. */
  readonly #ends = new Map<string, number>();

  constructor(onFault: (what: string) => void) {
    this.#onFault = onFault;
  }

  /** Registers the disk of a node. */
  isOn(node: NodeId, disk: WatchedDisk): void {
    this.#disks.set(node, disk);
  }

  said(message: SaidMessage): void {
    const { group, from, to, kind, term, match, isGranted } = message;
    if (kind === 'append-ack' || kind === 'vote-request' || (kind === 'vote-reply' && isGranted))
      this.#promised(group, from);
    if (kind === 'append') this.#note(message);
    else if (kind === 'append-ack' && match !== undefined) this.#acknowledged(message, match);
    else if (kind === 'vote-request') this.#votes(group, term, { voter: from, candidate: from });
    else if (kind === 'vote-reply' && isGranted) this.#votes(group, term, { voter: from, candidate: to });
  }

  /** Called when the replica of the group on this node applies the entry. */
  applied(group: number, entry: SaidEntry, node: NodeId): void {
    const own = this.#disks.get(node);
    if (own !== undefined && !isHeld(own, group, entry)) {
      this.#onFault(`I8: node ${node} applies ${shown(group, entry)}, which is not on its disk`);
    }
    const history = this.#of(group);
    if (entry.index <= history.appliedIndex) return;
    history.appliedIndex = entry.index;
    const { voters: before, votersBefore } = history;
    if (entry.voters !== undefined) {
      history.votersBefore = before ?? beforeFirst(entry.voters);
      history.voters = entry.voters;
    }
    // The leader decides by its own commit index: a membership that is committed together with this entry may not count
    // yet.
    const counting = entry.voters === undefined ? [before, votersBefore] : [before ?? beforeFirst(entry.voters)];
    const known = counting.filter((voters) => voters !== undefined);
    if (known.length === 0 || known.some((voters) => this.#isWithMost(group, entry, voters))) return;
    this.#onFault(
      `I9: node ${node} applies ${shown(group, entry)}, which is on the disks of no majority of its voters`,
    );
  }

  #note({ group, term, previous, entries }: SaidMessage): void {
    const { leaders } = this.#of(group);
    let known = leaders.get(term);
    if (known === undefined) {
      known = new Map();
      leaders.set(term, known);
    }
    if (previous !== undefined) known.set(previous.index, previous.term);
    for (const entry of entries) known.set(entry.index, entry.term);
  }

  #promised(group: number, from: number): void {
    const disk = this.#diskOf(from);
    if (disk === undefined || disk.hasLied) return;
    const [who, ends] = [`${group} ${from}`, disk.held.endsOf(group)];
    const before = this.#ends.get(who) ?? ends;
    this.#ends.set(who, before);
    if (ends !== before) this.#onFault(`I10: replica ${from} of group ${group} promises something after its log's end`);
  }

  #acknowledged({ group, from, term }: SaidMessage, index: number): void {
    const place = { index, term: this.#of(group).leaders.get(term)?.get(index) };
    const disk = this.#diskOf(from);
    if (disk === undefined || place.term === undefined || isHeld(disk, group, { index, term: place.term })) return;
    const what = shown(group, { index, term: place.term });
    this.#onFault(`I6: replica ${from} acknowledges ${what} to the leader of term ${term}, which is not on its disk`);
  }

  #votes(
    group: number,
    term: number,
    { voter, candidate }: { readonly voter: number; readonly candidate: number },
  ): void {
    const disk = this.#diskOf(voter);
    if (disk === undefined || disk.hasLied) return;
    const held = disk.held.group(group);
    if (held?.term === term && held.vote === candidate) return;
    const found = held === undefined ? 'nothing' : `a vote for ${held.vote} in term ${held.term}`;
    this.#onFault(
      `I7: replica ${voter} of group ${group} votes for ${candidate} in term ${term}, and its disk has ${found}`,
    );
  }

  #isWithMost(group: number, place: Place, { incoming, outgoing }: SaidVoters): boolean {
    const isIn = (voter: number): boolean => {
      const disk = this.#diskOf(voter);
      return disk === undefined || isHeld(disk, group, place);
    };
    return [incoming, outgoing].every((half) => half.length === 0 || half.filter(isIn).length > half.length / 2);
  }

  #diskOf(replica: number): WatchedDisk | undefined {
    return this.#disks.get(nodeOf(toReplicaId(replica)));
  }

  #of(group: number): GroupHistory {
    const known = this.#groups.get(group);
    if (known !== undefined) return known;
    const made = { leaders: new Map(), appliedIndex: 0, voters: undefined, votersBefore: undefined };
    this.#groups.set(group, made);
    return made;
  }
}

function isHeld({ held, hasLied }: WatchedDisk, group: number, place: Place): boolean {
  return hasLied || held.group(group)?.holds(place) === true;
}

/**
 * Voters before the first known membership. Without an outgoing half, it is the initial one or changed only learners.
 */
function beforeFirst({ incoming, outgoing }: SaidVoters): SaidVoters {
  return outgoing.length === 0 ? { incoming, outgoing } : { incoming: outgoing, outgoing: [] };
}

function shown(group: number, { index, term }: Place): string {
  return `entry ${index} of term ${term} of group ${group}`;
}
