/**
 * Cores that are broken on purpose, for the exhaustive search to detect. Each is the production core without one
 * guarantee.
 */
import { assert, type LogIndex, toLogIndex } from '#base';
import { entriesOf, lastId, ORIGIN, quorumIndex, type RaftState, step } from '#raft';
import type { Core } from './world.ts';

/** Sends a vote before the disk has written it. */
export const votesEarly: Core = (state, input, nowMs) => {
  const sound = step(state, input, nowMs);
  const asks = input.kind === 'receive' && input.message.kind === 'vote-request';
  if (!asks || sound.state.hardState.vote !== input.from) return sound;
  const { term } = sound.state.hardState;
  const message = { kind: 'vote-reply', term, isGranted: true, commit: ORIGIN } as const;
  return { state: sound.state, effects: [...sound.effects, { kind: 'send', to: input.from, message }] };
};

/** Forgets its vote when another candidate asks. */
export const votesTwice: Core = (state, input, nowMs) => {
  const asks = input.kind === 'receive' && input.message.kind === 'vote-request';
  if (!asks || state.role.kind !== 'follower') return step(state, input, nowMs);
  const { hardState, durable } = state;
  const forgetful = { hardState: { ...hardState, vote: undefined }, durable: { ...durable, vote: undefined } };
  return step({ ...state, ...forgetful }, input, nowMs);
};

/** Votes for the first candidate, even if its log lacks entries. */
export const votesForAnyLog: Core = (state, input, nowMs) => {
  if (input.kind !== 'receive' || input.message.kind !== 'vote-request') return step(state, input, nowMs);
  const { index, term } = lastId(state.log);
  const last = { index: toLogIndex(Math.max(index, input.message.last.index)), term };
  return step(state, { ...input, message: { ...input.message, last } }, nowMs);
};

/** Acknowledges its whole durable log before an append of this term has verified it against the leader's. */
export const acknowledgesUnverified: Core = (state, input, nowMs) => {
  const sound = step(state, input, nowMs);
  const match = sound.state.log.persisted;
  const effects = sound.effects.map((effect) =>
    effect.kind === 'send' && effect.message.kind === 'append-ack'
      ? { ...effect, message: { ...effect.message, match } }
      : effect,
  );
  return { state: sound.state, effects };
};

/** Acknowledges entries before the disk has written them. */
export const acknowledgesEarly: Core = (state, input, nowMs) => {
  const sound = step(state, input, nowMs);
  const persist = sound.effects.findLast((effect) => effect.kind === 'persist');
  if (persist === undefined || persist.entries.length === 0 || sound.state.role.kind !== 'follower') return sound;
  const { term, vote, index, logTerm } = persist;
  const done = step(sound.state, { kind: 'persisted', term, vote, index, logTerm }, nowMs);
  return { state: done.state, effects: [...sound.effects, ...done.effects] };
};

/** Starts a membership change before an entry of its term is committed. */
export const changesEarly: Core = (state, input, nowMs) => {
  const { role } = state;
  if (input.kind !== 'change-membership' || role.kind !== 'leader') return step(state, input, nowMs);
  const changed = step({ ...state, role: { ...role, first: toLogIndex(0) } }, input, nowMs);
  return { ...changed, state: { ...changed.state, role: { ...role, ...changed.state.role, first: role.first } } };
};

/** Commits entries of any term that a quorum has (Figure 8 of the Raft paper). */
export const commitsEarlierTerms: Core = (state, input, nowMs) => {
  const sound = step(state, input, nowMs);
  const reached = reachedIn(sound.state);
  const found = entriesOf(sound.state.log).find(({ index }) => index === reached);
  if (reached <= sound.state.commit || found === undefined) return sound;
  return { ...sound, state: { ...sound.state, commit: reached } };
};

/** Counts entries that its own disk has not written yet. */
export const commitsBeforeItsDisk: Core = (state, input, nowMs) => {
  const sound = step(state, input, nowMs);
  const hopeful = { ...sound.state, log: { ...sound.state.log, persisted: lastId(sound.state.log).index } };
  const reached = reachedIn(hopeful);
  if (reached <= sound.state.commit) return sound;
  return { ...sound, state: { ...sound.state, commit: reached } };
};

/** Requires only the new majority during a membership change. */
export const asksOneHalf: Core = (state, input, nowMs) => {
  const { membership } = state;
  if (membership.voters.outgoing.length === 0) return step(state, input, nowMs);
  const half = { ...membership, voters: { ...membership.voters, outgoing: [] } };
  const result = step({ ...state, membership: half }, input, nowMs);
  if (result.state.membership !== half) return result;
  return { ...result, state: { ...result.state, membership } };
};

function reachedIn({ role, membership, config, log, commit }: RaftState): LogIndex {
  if (role.kind !== 'leader') return commit;
  return quorumIndex(membership.voters, (voter) => {
    const match = voter === config.self ? log.persisted : role.peers.get(voter)?.progress.match;
    assert(match !== undefined, 'A leader tracks every voter', voter);
    return match;
  });
}
