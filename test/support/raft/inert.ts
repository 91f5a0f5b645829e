/**
 * What a search may forget, because it can change nothing any more, whatever happens: messages and parts of the
 * history. Each rule says why. Together they rest on these facts of #raft and of the scope; a test holds them against
 * searches in which nothing is forgotten (search-reductions.test.ts).
 *
 *   - No replica is ever in a term before the one on its disk, a crash included. While it does not crash it never goes
 *     back to an earlier term, commit index or verified index at all.
 *   - Who has led or followed in a term does not campaign in it; who is not a candidate in it will not lead in it.
 *   - What a leader knows a member to hold never goes back while it leads (R12).
 *   - A message of an earlier term is not read: if its sender may act on the term, it is told the current one.
 *   - Nobody enters a term behind the last, not even by the order of a leader that gives way (search-moves.ts).
 *   - No step is left over that any message would bring about: whoever has started has applied what it can.
 *   - The membership of a replica changes as long as there is one in its log that is not committed, and a path has one
 *     change, so that whoever was removed stays so.
 */
import { toTerm } from '#base';
import { type Message, type RaftState, type ReplicaId, tally } from '#raft';
import type { Envelope, History, Replica } from './world.ts';

export interface Horizon {
  /** The last term of the search. */
  readonly terms: number;
  /** How many crashes may still happen. */
  readonly crashes: number;
}

/**
 * What becomes of a message.
 *   kept
 *   notice      all that it can still do is to have its sender told a later term
 *   forgotten   it can do nothing
 */
export type Fate = 'kept' | 'notice' | 'forgotten';

export function fateOf({ message, from }: Envelope, receiver: Replica, sender: Replica, horizon: Horizon): Fate {
  const { state } = receiver;
  const floor = floorOf(receiver, horizon);
  if (message.kind === 'term-notice') return message.term <= floor ? 'forgotten' : 'kept';
  if (state === undefined || message.term > floor) return 'kept';
  const senderFloor = floorOf(sender, horizon);
  // There is no later term than the last.
  const isSpent = senderFloor >= horizon.terms;
  if (message.term < floor) {
    switch (ANSWER_WHEN_STALE[message.kind]) {
      case 'none':
        return 'forgotten';
      case 'notice':
        return isSpent ? 'forgotten' : 'notice';
      case 'refusal':
        return 'kept';
    }
  }
  if (isForLeader(message)) return answerFate(state, from, message);
  const isStable = horizon.crashes === 0;
  if (message.kind === 'vote-reply') return isCounted(state, from, message, isStable) ? 'forgotten' : 'kept';
  // When its receiver is in a later term, its sender is told; until then it is as good as the state that it is read in.
  if (!isStable || !(isSpent || message.term >= horizon.terms)) return 'kept';
  if (message.kind === 'append' || message.kind === 'commit') return isHeard(state, message) ? 'forgotten' : 'kept';
  if (message.kind !== 'vote-request' || senderFloor <= message.term) return 'kept';
  return isRefused(state, message) ? 'forgotten' : 'kept';
}

/** The term that the replica is never before again. */
export function floorOf({ disk, state }: Replica, { crashes }: Pick<Horizon, 'crashes'>): number {
  return crashes === 0 && state !== undefined ? state.hardState.term : disk.hardState.term;
}

/** The message that stands for all those of which only a notice can come. */
export function noticeOf({ from, to }: Envelope): Envelope {
  return { from, to, message: { kind: 'timeout-now', term: toTerm(0) } };
}

/**
 * What of the history can still be held against anybody. A vote of a term is sent in that term, so not by whoever is
 * past it for good; and a leader of a term is elected in that term, so not when all are past it for good. What was
 * committed before all their terms is looked for in every leader alike, in whichever term it was.
 */
export function remembering(history: History, replicas: readonly Replica[], horizon: Horizon): History {
  const floors = new Map(replicas.map((replica) => [String(replica.id), floorOf(replica, horizon)]));
  const least = Math.min(...floors.values());
  const votes = [...history.votes].filter(([key]) => {
    const [term = '', voter = ''] = key.split(':');
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

type ForLeader = Extract<Message, { readonly kind: 'append-ack' | 'append-reject' | 'beat-ack' | 'read-request' }>;

function isForLeader(message: Message): message is ForLeader {
  const { kind } = message;
  return kind === 'append-ack' || kind === 'append-reject' || kind === 'beat-ack' || kind === 'read-request';
}

/**
 * What is said to the leader of the term that the receiver has on disk. Nobody else reads it, and one who neither leads
 * nor campaigns will not lead in it; to a leader it says nothing if it says less of the member than is known
 * (progress.ts), or if its sender is no member any more: who was removed by the one change of a path never comes back.
 */
function answerFate({ role, hardState }: RaftState, from: ReplicaId, message: ForLeader): Fate {
  if (hardState.term > message.term || role.kind === 'follower' || role.kind === 'pre-candidate') return 'forgotten';
  if (role.kind !== 'leader' || message.kind === 'beat-ack' || message.kind === 'read-request') return 'kept';
  const match = role.peers.get(from)?.progress.match;
  if (match === undefined) return 'forgotten';
  const isOld = message.kind === 'append-ack' ? message.match < match : message.rejected <= match;
  return isOld ? 'forgotten' : 'kept';
}

/** A vote that is counted, or not read any more, by a voter who knows of no more that is committed. */
function isCounted(
  { role, commit, hardState, membership, changes }: RaftState,
  from: ReplicaId,
  message: Extract<Message, { readonly kind: 'vote-reply' }>,
  isStable: boolean,
): boolean {
  // A crash takes the commit index back.
  if (message.commit.index > (isStable ? commit : 0)) return false;
  if (hardState.term > message.term || role.kind !== 'candidate') return true;
  // The votes are counted again whenever one arrives, and decide more once another membership holds.
  const isDecided = tally(membership.voters, (voter) => role.votes.get(voter)) !== 'pending';
  return role.votes.get(from) === message.isGranted && !isDecided && changes.length === 0;
}

/** A message of the leader, who is known, that says nothing which is not verified and committed here already. */
function isHeard(
  { role, commit }: RaftState,
  message: Extract<Message, { readonly kind: 'append' | 'commit' }>,
): boolean {
  if (role.kind !== 'follower' || role.leader === undefined || message.commit > commit) return false;
  return message.kind === 'commit' || message.previous.index + message.entries.length <= role.verified;
}

/** A request that gets no vote, and brings no news of what is committed. */
function isRefused(
  { role, commit, hardState }: RaftState,
  message: Extract<Message, { readonly kind: 'vote-request' }>,
): boolean {
  const isFree = hardState.vote === undefined && role.kind === 'follower' && role.leader === undefined;
  return !isFree && message.commit.index <= commit;
}
