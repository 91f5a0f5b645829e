/**
 * What can happen next in a search (search.ts), each as a line that reads like one of a group script.
 *
 *   campaign 1                              straight into the next term, as after the order of a leader
 *   propose 1 a                             each proposal of a path has a payload of its own
 *   change 1 voters=1,2
 *   write 1                                 the disk completes its oldest write
 *   crash 1 torn=1                          with so many of its unfinished writes on disk; it starts again at once
 *   deliver 1 -> 2 append term 1 ...        a message arrives, and stays to arrive again
 *
 * The network is the set of all messages that were ever sent. That is the widest that #raft promises to live with:
 * a message that is lost is one that never arrives, a doubled one arrives again, a late one arrives late. So it needs
 * no moves and no budgets for any of them. A replica that is down for long is one whom nothing reaches.
 *
 * A campaign is neither pre-voted nor refused for a leader's sake: both only keep some elections from happening.
 *
 * Forgotten are messages that can change nothing any more, whatever happens (`isInert`). Each case there rests on
 * one fact: no replica is ever in a term before the one on its disk, a crash included.
 */
import { type Message, type ReplicaId, type Target, toReplicaId } from '#raft';
import { describeMessage } from './describe.ts';
import type { Keys } from './state-key.ts';
import { answer, apply, crash, deliver, type Envelope, give, replicaOf, start, type World, write } from './world.ts';

/** What may happen on one path, and how often. */
export interface Left {
  readonly proposals: number;
  readonly crashes: number;
  readonly changes: number;
}

export interface Bounds {
  readonly terms: number;
  readonly proposals: number;
  readonly change: Target | undefined;
}

export interface Move {
  readonly label: () => string;
  readonly left: Left;
  readonly go: () => World;
}

/** Always the same moves in the same order for the same world. */
export function movesFrom(world: World, left: Left, bounds: Bounds): readonly Move[] {
  const moves: Move[] = [];
  for (const id of world.replicas.keys()) {
    moves.push(...campaigns(world, left, id, bounds.terms), ...wishes(world, left, id, bounds));
    if (replicaOf(world, id).writing.length > 0) {
      moves.push({ label: () => `write ${id}`, left, go: () => write(world, id).world });
    }
    if (left.crashes > 0) moves.push(...crashesOf(world, left, id));
  }
  for (const [at, { from, to, message }] of world.network.entries()) {
    const label = (): string => `deliver ${from} -> ${to} ${describeMessage(message)}`;
    moves.push({ label, left, go: () => deliver(world, at, true).world });
  }
  return moves;
}

/**
 * Applies what can be applied, lets storage answer, and makes a set of the network again. `before` is the network that
 * the move began with, a set already.
 */
export function settled(moved: World, before: readonly Envelope[], keys: Keys, terms: number): World {
  let world = moved;
  for (const id of world.replicas.keys()) {
    while (replicaOf(world, id).toApply.length > 0) world = apply(world, id, Number.POSITIVE_INFINITY).world;
    while (replicaOf(world, id).asked.length > 0) world = answer(world, id).world;
  }
  const known = new Set<string>();
  const network = world.network.filter((envelope, at) => {
    if (isInert(world, envelope, terms)) return false;
    if (at < before.length && world.network.length === before.length) return true;
    const key = keys.ofEnvelope(envelope);
    if (known.has(key)) return false;
    known.add(key);
    return true;
  });
  return network.length === world.network.length ? world : { ...world, network };
}

/** Whether the message can change nothing any more; `terms` is the last term of the search. */
function isInert(world: World, { from, to, message }: Envelope, terms: number): boolean {
  const receiver = world.replicas.get(to);
  const sender = world.replicas.get(from);
  if (receiver?.state === undefined || sender === undefined) return receiver === undefined;
  const { term } = receiver.disk.hardState;
  if (message.kind === 'term-notice') return message.term <= term;
  const { role, hardState } = receiver.state;
  switch (ANSWER_WHEN_STALE[message.kind]) {
    case 'none':
      if (message.term < term) return true;
      break;
    case 'notice':
      // The answer is a notice of a term that the sender will not be behind: there is no later one.
      return message.term < term && sender.disk.hardState.term >= terms;
    case 'refusal':
      return false;
  }
  if (message.kind === 'vote-reply' || message.kind === 'pre-vote-reply' || message.term !== term) return false;
  // Said to the leader of a term that the receiver has on disk. It only becomes one by a campaign, which is for a term
  // that it has not been in: whoever neither leads nor campaigns in this one will not lead in it.
  return hardState.term > term || role.kind === 'follower' || role.kind === 'pre-candidate';
}

/** What a replica in a later term sends back. Total: a new kind of message does not compile without its line. */
const ANSWER_WHEN_STALE: Readonly<Record<Exclude<Message['kind'], 'term-notice'>, 'none' | 'notice' | 'refusal'>> = {
  'pre-vote-request': 'refusal',
  'pre-vote-reply': 'none',
  'vote-request': 'notice',
  'vote-reply': 'none',
  append: 'notice',
  'append-ack': 'none',
  'append-reject': 'none',
  commit: 'notice',
  beat: 'notice',
  'beat-ack': 'none',
  'read-request': 'none',
  'read-reply': 'notice',
  'timeout-now': 'notice',
  'install-snapshot': 'notice',
};

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
    go: () => start(crash(world, id, torn), id),
  }));
}
