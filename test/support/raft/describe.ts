/** Formats effects, messages and states of #raft as the lines of data-driven tests. */
import { unreachable } from '#base';
import {
  type Effect,
  type Entry,
  type EntryId,
  isJoint,
  lastId,
  type Membership,
  type MembershipRefusal,
  type Message,
  type Progress,
  type RaftState,
  type Refusal,
} from '#raft';

export function describeEffect(effect: Effect): string {
  switch (effect.kind) {
    case 'persist': {
      const { hardState, truncateFrom, entries, term, index, logTerm } = effect;
      const vote = hardState === undefined ? '' : ` term ${hardState.term} vote ${hardState.vote ?? 'none'}`;
      const dropped = truncateFrom === undefined ? '' : ` dropping ${truncateFrom}..`;
      return `persist${vote}${dropped} entries [${describeEntries(entries)}] (in term ${term}, through ${index}@${logTerm})`;
    }
    case 'proposed': {
      const refused = effect.refused === undefined ? '' : `, the rest refused: ${describeRefusal(effect.refused)}`;
      const from = effect.accepted === 0 ? '' : ` from ${effect.first}@${effect.term}`;
      return `proposed ${effect.accepted}${from}${refused}`;
    }
    case 'membership-answered':
      return `membership change at ${effect.index}@${effect.term}`;
    case 'membership-refused':
      return `membership change refused: ${describeMembershipRefusal(effect.refusal)}`;
    case 'send':
      return `send to ${effect.to}: ${describeMessage(effect.message)}`;
    case 'apply':
      return `apply [${describeEntries(effect.entries)}]`;
    case 'load-entries':
      return `load entries ${effect.from}..${effect.to - 1} for ${effect.replica}`;
    case 'send-snapshot':
      return `send a snapshot of ${effect.least} or later to ${effect.to}`;
    case 'install-snapshot':
      return `install snapshot ${describeId(effect.snapshot.last)} ${describeMembership(effect.snapshot.membership)}`;
    case 'read-ready':
      return `read ${effect.id} ready at ${effect.index} in term ${effect.term}`;
    case 'read-refused':
      return `read ${effect.id} refused: ${describeRefusal(effect.refusal)}`;
    case 'fact': {
      if (effect.fact.kind === 'membership-changed') {
        const { index, membership } = effect.fact;
        return `fact membership-changed at ${index} to ${describeMembership(membership)}`;
      }
      const { kind, ...fields } = effect.fact;
      const words = Object.entries<number | string | EntryId | undefined>({ ...fields }).map(
        ([key, value]) => ` ${key} ${typeof value === 'object' ? describeId(value) : (value ?? 'none')}`,
      );
      return `fact ${kind}${words.join('')}`;
    }
    default:
      return unreachable(effect);
  }
}

export function describeMessage(message: Message): string {
  const head = `${message.kind} term ${message.term}`;
  switch (message.kind) {
    case 'pre-vote-request':
      return `${head} last ${describeId(message.last)} commit ${describeId(message.commit)}`;
    case 'vote-request':
      return `${head} last ${describeId(message.last)} commit ${describeId(message.commit)}${message.isTransfer ? ' (transfer)' : ''}`;
    case 'pre-vote-reply':
    case 'vote-reply':
      return `${head} ${message.isGranted ? 'granted' : 'refused'} commit ${describeId(message.commit)}`;
    case 'append':
      return `${head} after ${describeId(message.previous)} [${describeEntries(message.entries)}] commit ${message.commit}`;
    case 'append-ack':
      return `${head} match ${message.match}`;
    case 'append-reject':
      return `${head} of ${message.rejected} hint ${describeId(message.hint)}`;
    case 'commit':
      return `${head} commit ${message.commit}`;
    case 'beat':
      return `${head} commit ${message.commit} round ${message.round}`;
    case 'beat-ack':
      return `${head} round ${message.round}`;
    case 'read-request':
      return head;
    case 'read-reply':
      return `${head} ${message.index === undefined ? 'refused' : `index ${message.index}`}`;
    case 'install-snapshot':
      return `${head} ${describeId(message.snapshot.last)} ${describeMembership(message.snapshot.membership)}`;
    case 'timeout-now':
    case 'term-notice':
      return head;
    default:
      return unreachable(message);
  }
}

export function describeState(state: RaftState): readonly string[] {
  const { hardState, log, commit, applying, applied, timers, role } = state;
  const entries = log.runs.flat();
  return [
    `${role.kind} term ${hardState.term} vote ${hardState.vote ?? 'none'} election ${timers.election ?? 'off'}`,
    `log ${describeId(log.base)} | ${describeEntries(entries)} | ${describeId(lastId(log))}`,
    `persisted ${log.persisted} commit ${commit} applying ${applying} applied ${applied}`,
  ];
}

/** One line per replica of a group. */
export function describeBriefly(state: RaftState): string {
  const { hardState, log, commit, membership, role, config } = state;
  const leader = role.kind === 'follower' ? ` of ${role.leader ?? 'nobody'}` : '';
  const all = [describeId(log.base), describeEntries(log.runs.flat())].filter((part) => part !== '0@0' && part !== '');
  return `${config.self}: ${role.kind}${leader} term ${hardState.term} commit ${commit} in ${describeMembership(membership)} log ${all.length === 0 ? 'empty' : all.join(' | ')}`;
}

export function describePeers({ role }: RaftState): readonly string[] {
  if (role.kind !== 'leader') return ['does not lead'];
  return [...role.peers].map(([id, { progress }]) => `${id}: ${describeProgress(progress)}`);
}

function describeProgress(progress: Progress): string {
  const head = `${progress.kind} match ${progress.match} next ${progress.next}`;
  switch (progress.kind) {
    case 'probe':
      return progress.waitsFor === 'nothing' ? head : `${head} waits for ${progress.waitsFor}`;
    case 'replicate': {
      const waits = progress.waitsFor === 'nothing' ? '' : ` waits for ${progress.waitsFor}`;
      return `${head} in flight [${progress.inFlight.map(({ last }) => last).join(' ')}]${waits}`;
    }
    case 'snapshot':
      return `${head} least ${progress.least}`;
    default:
      return unreachable(progress);
  }
}

function describeMembership(membership: Membership): string {
  const { voters, learners, learnersNext } = membership;
  const outgoing = isJoint(membership) ? `&${list(voters.outgoing)}` : '';
  const learning = learners.length === 0 ? '' : ` learners ${list(learners)}`;
  const next = learnersNext.length === 0 ? '' : ` next ${list(learnersNext)}`;
  return `${list(voters.incoming)}${outgoing}${learning}${next}`;
}

function list(ids: readonly number[]): string {
  return `(${ids.join(' ')})`;
}

function describeRefusal(refusal: Refusal): string {
  switch (refusal.kind) {
    case 'not-leader':
      return `not the leader (${refusal.leader ?? 'nobody'} is)`;
    case 'uncommitted-full':
      return `${refusal.bytesMax} bytes may wait`;
    case 'reads-full':
      return `${refusal.countMax} reads may wait`;
    case 'transferring':
      return `leadership goes to ${refusal.to}`;
    case 'no-answer':
      return `${refusal.leader ?? 'nobody'} has not answered`;
    default:
      return unreachable(refusal);
  }
}

function describeMembershipRefusal(refusal: MembershipRefusal): string {
  switch (refusal.kind) {
    case 'not-leader':
    case 'transferring':
      return describeRefusal(refusal);
    case 'no-change':
      return 'it is this already';
    case 'malformed':
      return refusal.fault;
    case 'change-in-flight':
      return `the one of ${refusal.index} is under way`;
    case 'term-not-committed':
      return 'nothing is committed in this term';
    case 'not-caught-up':
      return `${refusal.replica} has not caught up`;
    case 'quorum-at-risk':
      return `no quorum without ${list(refusal.unreachable)}`;
    default:
      return unreachable(refusal);
  }
}

function describeEntries(entries: readonly Entry[]): string {
  return entries.map(describeEntry).join(' ');
}

function describeEntry(entry: Entry): string {
  if (entry.membership !== undefined) return `${entry.index}@${entry.term}:${describeMembership(entry.membership)}`;
  const text = String.fromCodePoint(...entry.payload);
  return `${entry.index}@${entry.term}:${text === '' ? '(no-op)' : text}`;
}

function describeId(id: EntryId): string {
  return `${id.index}@${id.term}`;
}
