// Random Raft messages between replicas, for tests of the frame codec: any message that a replica could send.
import * as fc from 'fast-check';
import {
  type LogIndex,
  type NodeId,
  type ReplicaId,
  replicaOf,
  type Term,
  toGroupId,
  toLogIndex,
  toNodeId,
  toTerm,
} from '#base';
import { type Entry, type EntryId, type Membership, type Message } from '#raft';
import type { Envelope } from '../../../src/cluster/peer/links.ts';
import type { SnapshotContent, SnapshotLetter } from '../../../src/cluster/peer/snapshot-letter.ts';

type Kind = Message['kind'];

const MAX = Number.MAX_SAFE_INTEGER;

/** Mostly small numbers, with varints of every length. */
const count: fc.Arbitrary<number> = fc.oneof(
  fc.nat(300),
  fc.tuple(fc.nat(52), fc.nat(3)).map(([power, more]) => 2 ** power + more),
  fc.constant(MAX),
);
const index: fc.Arbitrary<LogIndex> = count.map(toLogIndex);
const term: fc.Arbitrary<Term> = count.map((value) => toTerm(Math.min(value, 2 ** 52)));
const COPIES = 2 ** 20;
const copy: fc.Arbitrary<number> = fc.oneof(fc.nat(3), fc.nat(COPIES - 1));
const node: fc.Arbitrary<NodeId> = fc.oneof(fc.nat(9), fc.nat(2 ** 32 - 2)).map((number) => toNodeId(number + 1));
const replica: fc.Arbitrary<ReplicaId> = fc.tuple(node, copy).map(([place, number]) => replicaOf(place, number));
const id: fc.Arbitrary<EntryId> = fc.record({ index, term });

const membership: fc.Arbitrary<Membership> = fc
  .tuple(fc.uniqueArray(replica, { minLength: 4, maxLength: 9 }), fc.boolean())
  .map(([[first, second, third, ...others], isJoint]) => {
    const named = [first, second, third].filter((each) => each !== undefined);
    const learnersNext = isJoint ? others.slice(0, 1) : [];
    const outgoing = isJoint ? [...named.slice(1), ...learnersNext] : [];
    return { voters: { incoming: named, outgoing }, learners: others.slice(2), learnersNext };
  });

/** Content of an entry: the increase of the term, and the payload or membership. */
const behind: fc.Arbitrary<{ readonly rise: number; readonly held: Uint8Array | Membership }> = fc.record({
  rise: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(1000)),
  held: fc.oneof({ weight: 5, arbitrary: fc.uint8Array({ maxLength: 400 }) }, membership),
});

const append: fc.Arbitrary<Message> = fc
  .record({
    previous: fc.record({ index: fc.nat(2 ** 40).map(toLogIndex), term: fc.nat(2 ** 40).map(toTerm) }),
    followers: fc.array(behind, { maxLength: 12 }),
    commit: index,
    later: fc.nat(100),
  })
  .map(({ previous, followers, commit, later }) => {
    const entries: Entry[] = [];
    let last = previous;
    for (const { rise, held } of followers) {
      last = { index: toLogIndex(last.index + 1), term: toTerm(last.term + rise) };
      entries.push(
        held instanceof Uint8Array
          ? { ...last, payload: held }
          : { ...last, payload: new Uint8Array(0), membership: held },
      );
    }
    return { kind: 'append', term: toTerm(last.term + later), previous, entries, commit };
  });

const either = fc.boolean();
const perhaps = fc.option(index, { nil: undefined });
/** Complete: a new kind of message does not compile until it is drawn. */
const MESSAGES: Readonly<Record<Kind, fc.Arbitrary<Message>>> = {
  'pre-vote-request': fc.record({ kind: fc.constant('pre-vote-request'), term, last: id, commit: id }),
  'pre-vote-reply': fc.record({ kind: fc.constant('pre-vote-reply'), term, isGranted: fc.boolean(), commit: id }),
  'vote-request': fc.record({ kind: fc.constant('vote-request'), term, last: id, commit: id, isTransfer: either }),
  'vote-reply': fc.record({ kind: fc.constant('vote-reply'), term, isGranted: fc.boolean(), commit: id }),
  append,
  'append-ack': fc.record({ kind: fc.constant('append-ack'), term, match: index }),
  'append-reject': fc.record({ kind: fc.constant('append-reject'), term, rejected: index, hint: id }),
  commit: fc.record({ kind: fc.constant('commit'), term, commit: index }),
  beat: fc.record({ kind: fc.constant('beat'), term, commit: index, round: count }),
  'beat-ack': fc.record({ kind: fc.constant('beat-ack'), term, round: count }),
  'read-request': fc.record({ kind: fc.constant('read-request'), term, id: count }),
  'read-reply': fc.record({ kind: fc.constant('read-reply'), term, id: count, index: perhaps }),
  'timeout-now': fc.record({ kind: fc.constant('timeout-now'), term }),
  'install-snapshot': fc.record({
    kind: fc.constant('install-snapshot'),
    term,
    snapshot: fc.record({ last: id, membership }),
  }),
  'term-notice': fc.record({ kind: fc.constant('term-notice'), term }),
};

const KINDS: readonly Kind[] = Object.keys(MESSAGES).filter((name): name is Kind => name in MESSAGES);

/** From a replica of node 1 to a replica of node 2. */
function envelopeOf(kind: Kind): fc.Arbitrary<Envelope> {
  return fc.record({
    group: fc.oneof(fc.nat(200), fc.nat(2 ** 32 - 1)).map(toGroupId),
    from: copy.map((number) => replicaOf(toNodeId(1), number)),
    to: copy.map((number) => replicaOf(toNodeId(2), number)),
    message: MESSAGES[kind],
  });
}

export const envelopes: fc.Arbitrary<readonly Envelope[]> = fc.array(
  fc.constantFrom(...KINDS).chain((kind) => envelopeOf(kind)),
  { maxLength: 30 },
);

const bytes: fc.Arbitrary<Uint8Array> = fc.uint8Array({ maxLength: 300 });

/** Complete: a new kind of letter does not compile until it is drawn. */
const LETTERS: {
  readonly [K in SnapshotContent['kind']]: fc.Arbitrary<Extract<SnapshotContent, { readonly kind: K }>>;
} = {
  offer: fc.record({ kind: fc.constant('offer'), term }),
  ask: fc.record({ kind: fc.constant('ask'), round: count, credit: count, standing: bytes }),
  part: fc.record({
    kind: fc.constant('part'),
    round: count,
    seq: count,
    last: id,
    isLast: fc.boolean(),
    members: fc.record({ index, membership }),
    data: bytes,
  }),
  end: fc.record({ kind: fc.constant('end'), reason: fc.constantFrom('done', 'busy', 'refused', 'over') }),
};

/** Any letter of a snapshot transfer between two nodes. */
export function letters(from: NodeId, to: NodeId): fc.Arbitrary<SnapshotLetter> {
  const contents = fc.oneof(...Object.values(LETTERS));
  return fc
    .record({ group: fc.nat(2 ** 32 - 1), copies: fc.tuple(copy, copy), transfer: count, content: contents })
    .map(({ group, copies, transfer, content }) => ({
      group: toGroupId(group),
      from: replicaOf(from, copies[0]),
      to: replicaOf(to, copies[1]),
      transfer,
      content,
    }));
}
