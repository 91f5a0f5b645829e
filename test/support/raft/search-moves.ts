/**
 * What can happen next in a search (search.ts), each as a line that reads like one of a group script.
 *
 *   campaign 1                              straight into the next term, as after the order of a leader
 *   propose 1 a                             each proposal of a path has a payload of its own
 *   change 1 voters=1,2
 *   write 1                                 the disk completes its oldest write
 *   crash 1 torn=1                          with so many of its unfinished writes on disk; it starts again at once
 *   deliver 1 -> 2 append term 1 ...        a message arrives, and stays to arrive again
 *   delay 1 -> 2 append term 1 ...          one that was due may arrive at any time, or never
 *
 * The network is the set of all messages that were ever sent. That is the widest that #raft promises to live with:
 * a message that is lost is one that never arrives, a doubled one arrives again, a late one arrives late. So it needs
 * no moves and no budgets for any of them. A replica that is down for long is one whom nothing reaches.
 *
 * Where only so many messages of a path may be late, all others arrive before anything else happens, once, in the order
 * in which they were sent. One that is late is in the network for good: whatever is lost, doubled or overtaken is late.
 *
 * A campaign is neither pre-voted nor refused for a leader's sake: both only keep some elections from happening. In the
 * last term nobody campaigns: the order of a leader that gives way in it is lost.
 *
 * What can change nothing any more is forgotten (inert.ts).
 */
import { type ReplicaId, type Target, toReplicaId } from '#raft';
import { describeMessage } from './describe.ts';
import { type Fate, fateOf, type Horizon, noticeOf, remembering } from './inert.ts';
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

/** Always the same moves in the same order for the same world. */
export function movesFrom(world: World, left: Left, bounds: Bounds): readonly Move[] {
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
    moves.push({ label: () => deliveryOf(envelope), left, go: () => deliver(world, at, true).world });
  }
  return moves;
}

/** Applies what can be applied, lets storage answer, and loses orders to campaign that lead out of the scope. */
export function calmed(moved: World, { terms, disks }: Pick<Bounds, 'terms' | 'disks'>): World {
  let world = moved;
  for (const id of world.replicas.keys()) {
    if (disks === 'prompt') world = written(world, id);
    while (replicaOf(world, id).toApply.length > 0) world = apply(world, id, Number.POSITIVE_INFINITY).world;
    while (replicaOf(world, id).asked.length > 0) world = answer(world, id).world;
  }
  const leadsOut = ({ message }: Envelope): boolean => message.kind === 'timeout-now' && message.term >= terms;
  const { network, due } = world;
  if (!network.some(leadsOut) && due?.some(leadsOut) !== true) return world;
  const staysIn = (each: Envelope): boolean => !leadsOut(each);
  return { ...world, network: network.filter(staysIn), due: due?.filter(staysIn) };
}

function written(moved: World, id: ReplicaId): World {
  let world = moved;
  while (replicaOf(world, id).writing.length > 0) world = write(world, id).world;
  return world;
}

/** A world as the search knows it: calm, its network a set, and without what can change nothing any more. */
export function settled(moved: World, keys: Keys, horizon: Horizon & Pick<Bounds, 'disks'>): World {
  // What arrives at once may bring about what can still do something: nothing is forgotten before that.
  const isDueAtOnce = moved.due !== undefined;
  const fate = (envelope: Envelope, calm: World): Fate => (isDueAtOnce ? 'kept' : fateIn(calm, envelope, horizon));
  const world = asSet(calmed(moved, horizon), keys, fate);
  return { ...world, history: remembering(world.history, [...world.replicas.values()], horizon) };
}

function asSet(world: World, keys: Keys, fateOfEach: (envelope: Envelope, world: World) => Fate): World {
  const leftOf = (envelope: Envelope): readonly Envelope[] => {
    const fate = fateOfEach(envelope, world);
    if (fate === 'forgotten') return [];
    return [fate === 'notice' ? noticeOf(envelope) : envelope];
  };
  const network = new Map<number, Envelope>();
  for (const left of world.network.flatMap(leftOf)) {
    const key = keys.ofEnvelope(left);
    if (!network.has(key)) network.set(key, left);
  }
  return { ...world, network: [...network.values()], due: world.due?.flatMap(leftOf) };
}

/** Who does not belong to the group hears nothing. */
function fateIn({ replicas }: World, envelope: Envelope, horizon: Horizon): Fate {
  const receiver = replicas.get(envelope.to);
  const sender = replicas.get(envelope.from);
  return receiver === undefined || sender === undefined ? 'forgotten' : fateOf(envelope, receiver, sender, horizon);
}

export function deliveryOf(envelope: Envelope): string {
  return `deliver ${wayOf(envelope)}`;
}

export function delayOf(envelope: Envelope): string {
  return `delay ${wayOf(envelope)}`;
}

function wayOf({ from, to, message }: Envelope): string {
  return `${from} -> ${to} ${describeMessage(message)}`;
}

/** What can happen to the first message that is due. */
function arrivals(world: World, left: Left, due: Envelope): readonly Move[] {
  const arrival: Move = { label: () => deliveryOf(due), left, go: () => deliverDue(world).world };
  if (left.late === 0) return [arrival];
  const later = { ...left, late: left.late - 1 };
  return [arrival, { label: () => delayOf(due), left: later, go: () => delay(world) }];
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
