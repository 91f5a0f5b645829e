// The numbered invariants of #raft that concern a step, as executable checks: two consecutive states, the input between
// them, and the effects. state-invariants.ts has those of a state.
import { assert } from '#base';
import {
  type Effect,
  type Entry,
  type Input,
  lastId,
  type Membership,
  type Persist,
  type RaftState,
  type ReplicaId,
  type Step,
} from '#raft';
import type { Log } from '../../../src/raft/log.ts';
import { checkState, entriesOf } from './state-invariants.ts';

export function checkStep(before: RaftState, input: Input, { state: after, effects }: Step): void {
  checkState(after);
  checkNothingGoesBack(before, input, after);
  checkRole(before, input, after);
  if (before.isDiverged) checkIsGone(after, effects);
  if (input.kind !== 'snapshot-installed') checkPersists(before, after, effects);
  for (const effect of effects) checkEffect(before, after, effect);
}

function checkNothingGoesBack(before: RaftState, input: Input, after: RaftState): void {
  const termBefore = before.hardState.term;
  const termAfter = after.hardState.term;
  assert(termAfter >= termBefore, 'R7: a term never goes back', [termBefore, termAfter]);
  const kept = termAfter > termBefore || before.hardState.vote === undefined;
  assert(kept || after.hardState.vote === before.hardState.vote, 'R7: a vote of a term is never changed', input);
  assert(after.commit >= before.commit, 'R4: the commit index never goes back', [before.commit, after.commit]);
  assert(after.applying >= before.applying, 'R1: nothing is handed out twice', [before.applying, after.applying]);
  assert(after.applied >= before.applied, 'R1: the applied index never goes back', [before.applied, after.applied]);
  const then = new Map(entriesOf(before.log).map((entry) => [entry.index, entry]));
  for (const { index, term } of entriesOf(after.log)) {
    const known = index <= before.commit ? then.get(index) : undefined;
    assert(known === undefined || known.term === term, 'R10: what is committed is never overwritten', index);
  }
}

function checkIsGone(after: RaftState, effects: readonly Effect[]): void {
  assert(after.isDiverged, 'R15: a replica with another history stays out of the group', after.role);
  assert(
    effects.every(({ kind }) => kind !== 'send'),
    'R15: a replica with another history says nothing',
    effects,
  );
}

function checkRole(before: RaftState, input: Input, after: RaftState): void {
  const isSameTerm = before.hardState.term === after.hardState.term;
  if (before.role.kind !== 'leader' || !isSameTerm) return;
  if (after.commit > before.commit) {
    const found = entriesOf(after.log).find((entry) => entry.index === after.commit);
    assert(found?.term === after.hardState.term, 'R4: a leader commits by an entry of its own term', found);
  }
  const { kind } = after.role;
  assert(kind === 'leader' || kind === 'follower', 'R4: a leader leads, or gives way', kind);
  checkAppendOnly(before.log, after.log);
  if (after.role.kind !== 'leader') return;
  const { round, reads } = before.role;
  assert(after.role.round >= round, 'R5: a round is never numbered again', after.role.round);
  for (const read of after.role.reads) {
    assert(read.round > round || reads.includes(read), 'R5: a read waits for a round that begins after it came', read);
  }
  for (const [id, peer] of before.role.peers) {
    const match = after.role.peers.get(id)?.progress.match ?? peer.progress.match;
    const says = input.kind === 'receive' && input.from === id && input.message.kind === 'append-reject';
    const isKept = match >= peer.progress.match || (says && match === 0);
    assert(isKept, 'R12: what a member is known to hold goes back only when it says so', [id, match]);
  }
}

function checkPersists(before: RaftState, after: RaftState, effects: readonly Effect[]): void {
  const persists = effects.filter((effect): effect is Persist => effect.kind === 'persist');
  const changed = before.hardState.term !== after.hardState.term || before.hardState.vote !== after.hardState.vote;
  const written = persists.findLast((effect) => effect.hardState !== undefined)?.hardState;
  assert(
    !changed || (written?.term === after.hardState.term && written.vote === after.hardState.vote),
    'R8: a changed term or vote is persisted in the same step',
    written,
  );
  const then = new Map(entriesOf(before.log).map((entry) => [entry.index, entry]));
  const added = entriesOf(after.log).filter((entry) => then.get(entry.index) !== entry);
  const persisted = persists.flatMap((effect) => effect.entries);
  assert(persisted.length === added.length, 'R8: every new entry is persisted, and only once', persisted.length);
  assert(
    persisted.every((entry, at) => entry === added[at]),
    'R8: entries are persisted in order',
  );
  const first = added[0]?.index;
  const from = first !== undefined && first <= lastId(before.log).index ? first : undefined;
  const dropped = persists.find((effect) => effect.truncateFrom !== undefined)?.truncateFrom;
  assert(dropped === from, 'R8: what is overwritten is dropped on disk as well', [dropped, from]);
  if (after.role.kind === 'leader') checkAppendedMemberships(after, added);
}

function checkAppendedMemberships(after: RaftState, added: readonly Entry[]): void {
  const { role, commit, membership } = after;
  const appended = added.flatMap((entry) => (entry.membership === undefined ? [] : [entry.membership]));
  if (appended.length === 0 || role.kind !== 'leader') return;
  assert(commit >= role.first, 'R11: no change before the first commit of the term', [commit, role.first]);
  for (const next of appended) assert(isNeighbour(membership, next), 'R11: neighbours share a quorum', next);
}

/** A change of learners only, or the start or end of a joint membership. */
function isNeighbour({ voters }: Membership, next: Membership): boolean {
  const incoming = String(voters.incoming);
  const isNextJoint = next.voters.outgoing.length > 0;
  if (voters.outgoing.length > 0) return !isNextJoint && String(next.voters.incoming) === incoming;
  return String(isNextJoint ? next.voters.outgoing : next.voters.incoming) === incoming;
}

function checkEffect(before: RaftState, after: RaftState, effect: Effect): void {
  switch (effect.kind) {
    case 'apply': {
      const [first] = effect.entries;
      assert(first?.index === before.applying + 1, 'R1: entries are handed out in order', first?.index);
      assert(effect.entries.at(-1)?.index === after.applying, 'R1: entries are handed out without a gap');
      return;
    }
    case 'read-ready': {
      const { role } = after;
      assert(role.kind === 'leader' || role.kind === 'follower', 'R5: nobody else answers a read', role.kind);
      checkRelease(before, after, { id: effect.id, from: undefined, index: effect.index });
      assert(effect.term === after.hardState.term, 'R5: a read is answered in the term that confirmed it', effect);
      return;
    }
    case 'persist':
      assert(effect.term === after.hardState.term, 'R6: a persist effect carries the term it was issued in', effect);
      return;
    case 'send':
      return checkMessage(before, after, effect);
    case 'send-snapshot':
      assert(effect.least <= after.applied, 'R12: what a snapshot must hold is applied', effect);
      return;
    case 'proposed':
    case 'membership-answered':
    case 'membership-refused':
    case 'load-entries':
    case 'install-snapshot':
    case 'read-refused':
    case 'fact':
      return;
  }
}

/** Checks the release of a read, requested by the leader itself or by the follower `from`. */
function checkRelease(
  before: RaftState,
  { role, config, membership }: RaftState,
  { id, from, index }: { readonly id: number; readonly from: ReplicaId | undefined; readonly index: number },
): void {
  if (role.kind !== 'leader' || before.role.kind !== 'leader') return;
  assert(index >= role.first, 'R5: a read waits for the first commit of the term', index);
  const { reads, round } = before.role;
  const waitedFor = reads.find((read) => read.id === id && read.from === from)?.round ?? round + 1;
  const hasAnswered = (voter: ReplicaId): boolean =>
    voter === config.self || (role.peers.get(voter)?.round ?? 0) >= waitedFor;
  for (const half of [membership.voters.incoming, membership.voters.outgoing]) {
    const isQuorum = half.length === 0 || half.filter(hasAnswered).length > half.length / 2;
    assert(isQuorum, 'R5: a quorum has confirmed the round of a read', [id, waitedFor]);
  }
}

/** A promise is sent only when it would survive a crash (R9). */
function checkMessage(before: RaftState, after: RaftState, { message, to }: Extract<Effect, { kind: 'send' }>): void {
  const { durable, hardState, config, log, role } = after;
  assert(to !== config.self, 'R9: nobody writes to itself', message);
  const isTermDurable = durable.term === hardState.term;
  if (message.kind === 'vote-request') {
    assert(isTermDurable && durable.vote === config.self, 'R9: a candidate asks once its own vote is on disk', durable);
  }
  if (message.kind === 'vote-reply' && message.isGranted) {
    assert(isTermDurable && durable.vote === to, 'R9: a vote is sent once it is on disk', durable);
  }
  if (message.kind === 'read-reply' && message.index !== undefined) {
    checkRelease(before, after, { id: message.id, from: to, index: message.index });
  }
  if (message.kind === 'append-ack') {
    assert(isTermDurable && message.match <= log.persisted, 'R9: entries are acknowledged once on disk', message);
    const verified = role.kind === 'follower' ? role.verified : 0;
    assert(message.match <= verified, 'R10: what is acknowledged is the leader’s log', [message.match, verified]);
  }
}

function checkAppendOnly(before: Log, after: Log): void {
  const kept = new Map(entriesOf(after).map((entry) => [entry.index, entry]));
  for (const entry of entriesOf(before)) {
    const isReleased = entry.index <= after.base.index;
    assert(isReleased || kept.get(entry.index) === entry, 'R4: a leader only appends', entry.index);
  }
}
