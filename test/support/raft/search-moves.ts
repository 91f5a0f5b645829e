// What can happen next in a search (search.ts), each as a line that reads like one of a group script.
//
//   campaign 1                              straight into the next term, as after the order of a leader
//   propose 1 a                             each proposal of a path has a payload of its own
//   change 1 voters=1,2
//   write 1                                 the disk completes its oldest write
//   crash 1 torn=1                          with so many of its unfinished writes on disk; it starts again at once
//   deliver 1 -> 2 append term 1 ...        a message arrives, and stays to arrive again
//   delay 1 -> 2 append term 1 ...          one that was due may arrive at any time, or never
//
// A message is due when it is sent: all that is due arrives before anything else happens, once, in the order in which
// it was sent. So many messages of a path may be late instead. A late one is in the network, a set, and may arrive at
// any time, again and again, or never: whatever is lost, doubled or overtaken is late. A replica that is down for long
// is one whose messages are all late.
//
// A campaign is neither pre-voted nor refused for a leader's sake: both only keep some elections from happening. In the
// last term nobody campaigns: the order of a leader that steps down in it is lost.
import { toTerm } from '#base';
import { type ReplicaId, type Target, toReplicaId } from '#raft';
import { describeMessage } from './describe.ts';
import type { Keys } from './keys.ts';
import {
  answer,
  apply,
  crash,
  delay,
  deliver,
  deliverDue,
  type Envelope,
  give,
  type History,
  type Replica,
  replicaOf,
  start,
  type World,
  write,
} from './world.ts';

/** What may happen on one path, and how often. */
export interface Left {
  readonly proposals: number;
  readonly crashes: number;
  readonly changes: number;
  /** Messages that may still be late. */
  readonly late: number;
}

export interface Bounds {
  readonly terms: number;
  readonly proposals: number;
  readonly change: Target | undefined;
  /** Prompt ones have completed a write before anything else happens anywhere: `write` is no move then. */
  readonly disks: Disks;
}

export type Disks = 'any' | 'prompt';

export interface Move {
  readonly label: () => string;
  readonly left: Left;
  readonly go: () => World;
}

export interface State {
  readonly world: World;
  readonly left: Left;
}

/** Always the same moves in the same order for the same world. */
export function movesFrom({ world, left }: State, bounds: Bounds): readonly Move[] {
  const [due] = world.due ?? [];
  if (due !== undefined) return arrivals(world, left, due);
  const moves: Move[] = [];
  for (const id of world.replicas.keys()) {
    moves.push(...campaigns(world, left, id, bounds.terms), ...wishes(world, left, id, bounds));
    if (replicaOf(world, id).writing.length > 0) {
      moves.push({ label: () => `write ${id}`, left, go: () => write(world, id).world });
    }
    if (left.crashes > 0) moves.push(...crashesOf(world, left, id));
  }
  for (const [at, envelope] of world.network.entries()) {
    moves.push({ label: () => `deliver ${wayOf(envelope)}`, left, go: () => deliver(world, at, true).world });
  }
  return moves;
}

/**
 * A world as the search knows it: storage has answered, what can be applied is, the network is a set, orders to
 * campaign that lead out of the scope are lost, and the history holds what a later step can be checked against.
 */
export function settled(moved: World, keys: Keys, bounds: Bounds & Pick<Left, 'crashes'>): World {
  let world = moved;
  for (const id of world.replicas.keys()) {
    if (bounds.disks === 'prompt') world = written(world, id);
    while (replicaOf(world, id).toApply.length > 0) world = apply(world, id, Number.POSITIVE_INFINITY).world;
    while (replicaOf(world, id).asked.length > 0) world = answer(world, id).world;
  }
  const network = new Map(world.network.map((each) => [keys.numberOf(each), each]));
  const due = world.due?.filter(({ message }) => message.kind !== 'timeout-now' || message.term < bounds.terms);
  const history = remembering(world.history, [...world.replicas.values()], bounds);
  return { ...world, network: [...network.values()], due, history };
}

/**
 * What of the history a later step can be checked against. No replica is ever in a term before the one on its disk, or
 * before its present one when nothing crashes any more. A vote of a term is sent in that term, and a leader of a term
 * is elected in it. What was committed before all their terms every leader must hold, in whichever term that was.
 */
function remembering(history: History, replicas: readonly Replica[], { crashes }: Pick<Left, 'crashes'>): History {
  const floorOf = ({ disk, state }: Replica): number => (crashes === 0 ? state : disk)?.hardState.term ?? 0;
  const floors = new Map(replicas.map((replica) => [String(replica.id), floorOf(replica)]));
  const least = Math.min(...floors.values());
  const votes = [...history.votes].filter(([key]) => {
    const [term, voter = ''] = key.split(':');
    return Number(term) >= (floors.get(voter) ?? 0);
  });
  const leaders = [...history.leaders].filter(([term]) => term >= least);
  const isOld = history.committedIn.some((term) => term < least && term !== LONG_AGO);
  if (!isOld && votes.length === history.votes.size && leaders.length === history.leaders.size) return history;
  const committedIn = history.committedIn.map((term) => (term < least ? LONG_AGO : term));
  return { ...history, committedIn, votes: new Map(votes), leaders: new Map(leaders) };
}

/** Before every term that anybody leads in. */
const LONG_AGO = toTerm(0);

function written(moved: World, id: ReplicaId): World {
  let world = moved;
  while (replicaOf(world, id).writing.length > 0) world = write(world, id).world;
  return world;
}

function wayOf({ from, to, message }: Envelope): string {
  return `${from} -> ${to} ${describeMessage(message)}`;
}

/** What can happen to the first message that is due. */
function arrivals(world: World, left: Left, due: Envelope): readonly Move[] {
  const arrival: Move = { label: () => `deliver ${wayOf(due)}`, left, go: () => deliverDue(world).world };
  if (left.late === 0) return [arrival];
  const later = { ...left, late: left.late - 1 };
  return [arrival, { label: () => `delay ${wayOf(due)}`, left: later, go: () => delay(world) }];
}

function campaigns(world: World, left: Left, id: ReplicaId, terms: number): readonly Move[] {
  const { state } = replicaOf(world, id);
  if (state === undefined || state.hardState.term >= terms) return [];
  const { role, membership } = state;
  if (role.kind === 'leader' || role.kind === 'pre-candidate') return [];
  if (![...membership.voters.incoming, ...membership.voters.outgoing].includes(id)) return [];
  // From whom the order comes leaves no trace.
  const other = toReplicaId(id === 1 ? 2 : 1);
  const from = role.kind === 'follower' ? (role.leader ?? other) : other;
  const message = { kind: 'timeout-now', term: state.hardState.term } as const;
  const go = (): World => give(world, id, { kind: 'receive', from, message }).world;
  return [{ label: () => `campaign ${id}`, left, go }];
}

const FIRST_LETTER = 'a'.charCodeAt(0);

/** What a leader may be asked for. */
function wishes(world: World, left: Left, id: ReplicaId, { proposals, change }: Bounds): readonly Move[] {
  if (replicaOf(world, id).state?.role.kind !== 'leader') return [];
  const moves: Move[] = [];
  if (left.proposals > 0) {
    const letter = FIRST_LETTER + proposals - left.proposals;
    const go = (): World => give(world, id, { kind: 'propose', payloads: [Uint8Array.of(letter)] }).world;
    const label = (): string => `propose ${id} ${String.fromCharCode(letter)}`;
    moves.push({ label, left: { ...left, proposals: left.proposals - 1 }, go });
  }
  if (left.changes > 0 && change !== undefined) {
    const go = (): World => give(world, id, { kind: 'change-membership', target: change }).world;
    const learners = change.learners.length === 0 ? '' : ` learners=${change.learners.join(',')}`;
    const label = (): string => `change ${id} voters=${change.voters.join(',')}${learners}`;
    moves.push({ label, left: { ...left, changes: left.changes - 1 }, go });
  }
  return moves;
}

function crashesOf(world: World, left: Left, id: ReplicaId): readonly Move[] {
  const { writing } = replicaOf(world, id);
  return Array.from({ length: writing.length + 1 }, (_, torn) => ({
    label: () => `crash ${id} torn=${torn}`,
    left: { ...left, crashes: left.crashes - 1 },
    // Whoever starts may know of committed entries: the tick applies them, which any other input would do as well.
    go: () => give(start(crash(world, id, torn), id), id, { kind: 'tick' }).world,
  }));
}
