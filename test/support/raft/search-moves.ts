// The possible moves of a search (search.ts), each with a label like a command of a group script.
//
//   campaign 1                              starts an election in the next term, as after `timeout-now`
//   propose 1 a                             each proposal of a path has another payload
//   change 1 voters=1,2
//   write 1                                 the disk completes its oldest write
//   crash 1 torn=1                          with this number of unfinished writes on disk; it restarts immediately
//   deliver 1 -> 2 append term 1 ...        a message arrives, and may arrive again
//   delay 1 -> 2 append term 1 ...          a due message may arrive at any time, or never
//
// A message is due when it is sent: all due messages arrive once, in the order of sending, before anything else
// happens. A limited number of messages per path may be late instead. Late messages are a set in the network, and may
// arrive at any time, repeatedly, or never; lost, duplicated and reordered messages are therefore late ones. A replica
// that is down for long is modelled by late messages.
//
// Campaigns have no pre-vote and are not refused because of a leader: both would only prevent some elections. In the
// last term there are no campaigns: the `timeout-now` of a leader that steps down is lost.
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

/** Number of each kind of event that may still happen on a path. */
export interface Left {
  readonly proposals: number;
  readonly crashes: number;
  readonly changes: number;
  /** Number of messages that may still be late. */
  readonly late: number;
}

export interface Bounds {
  readonly terms: number;
  readonly proposals: number;
  readonly change: Target | undefined;
  /** With `prompt`, writes complete before anything else happens, and there is no move `write`. */
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

/** Returns the same moves in the same order for the same world. */
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
 * Normalizes a world for the search: storage has answered, entries are applied, the network is a set, `timeout-now`
 * messages beyond the scope are lost, and the history has only what later steps can be checked against.
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
 * The part of the history that a later step can be checked against. No replica returns to a term before the one on its
 * disk, or before its current one when no crashes are left. A vote is sent in its own term, and a leader is elected in
 * its own term. Every leader must have everything that was committed before all current terms, regardless of the exact
 * term.
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

/** Before every term with a leader. */
const LONG_AGO = toTerm(0);

function written(moved: World, id: ReplicaId): World {
  let world = moved;
  while (replicaOf(world, id).writing.length > 0) world = write(world, id).world;
  return world;
}

function wayOf({ from, to, message }: Envelope): string {
  return `${from} -> ${to} ${describeMessage(message)}`;
}

/** The possible moves for the first due message. */
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
  // The sender of the message has no effect.
  const other = toReplicaId(id === 1 ? 2 : 1);
  const from = role.kind === 'follower' ? (role.leader ?? other) : other;
  const message = { kind: 'timeout-now', term: state.hardState.term } as const;
  const go = (): World => give(world, id, { kind: 'receive', from, message }).world;
  return [{ label: () => `campaign ${id}`, left, go }];
}

const FIRST_LETTER = 'a'.charCodeAt(0);

/** The possible requests to a leader. */
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
    // A started replica may know of committed entries; the tick applies them, as any other input would.
    go: () => give(start(crash(world, id, torn), id), id, { kind: 'tick' }).world,
  }));
}
