// What replicas promise to each other, and what they hand to their state machines, held against what is on their disks
// in that moment (disk-log.ts).
//
//   I6  whoever acknowledges entries has the last of them on his disk, as the leader of that term has it
//   I7  whoever gives a vote, or asks for one, has it on his disk
//   I8  whoever applies an entry has it on his disk
//   I9  what anybody applies is on the disks of a majority of the voters, of both halves during a change; what learners
//       hold does not count
//   I10 a replica promises nothing any more when its log has ended
//
// A disk that has lied since (rot, writes that were lost) is not asked.
import { type NodeId, nodeOf, toReplicaId } from '#base';
import type { DiskLog } from './disk-log.ts';
import type { Place, SaidEntry, SaidMessage, SaidVoters } from './raft-watch.ts';

/** A disk with what is on it. */
export interface WatchedDisk {
  readonly held: DiskLog;
  readonly hasLied: boolean;
}

interface GroupHistory {
  /** Of the leader of each term: the terms of its entries by their index, as it said them. */
  readonly leaders: Map<number, Map<number, number>>;
  /** Everything up to here was applied by somebody. */
  appliedIndex: number;
  /** Who votes behind the last entry that said so, and before it. */
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

  /** The store with this number is on this disk. */
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

  /** The replica of the group on this node hands the entry to its state machine. */
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
    // A leader goes by what it knows to be committed: a change that is committed together with this may not count yet.
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

/** Who voted before the first change that is known: it began there, or concerns learners alone. */
function beforeFirst({ incoming, outgoing }: SaidVoters): SaidVoters {
  return outgoing.length === 0 ? { incoming, outgoing } : { incoming: outgoing, outgoing: [] };
}

function shown(group: number, { index, term }: Place): string {
  return `entry ${index} of term ${term} of group ${group}`;
}
