// Goal: a recovery is accepted only for a lost database, from the most complete replica, with an accepted revision
// (C25). Method: tables of the answers of replicas.
import { describe, expect, it } from 'vitest';
import { type NodeId, replicaOf, toDatabaseId, toGroupId, toLogIndex, toNodeId, toRevision, toTerm } from '#base';
import type { Binding, HeldCopy } from '#cluster';
import { type VoterSet, voterSet } from '#raft';
import { faultInRecovery, recoveredBy } from '../../../../src/cluster/admin/recover-order.ts';
import { bindingOn } from '../../../support/cluster/layouts.ts';

const BINDING = bindingOn(1, [1, 2, 3]);
const HASH = new Uint8Array(32).fill(0xab);

interface Said {
  readonly leader?: number;
  readonly revision?: number;
  readonly index?: number;
  readonly term?: number;
  readonly unapplied?: number;
  readonly group?: number;
  readonly voters?: VoterSet;
}

const replicasOf = (...nodes: readonly number[]) => nodes.map((node) => replicaOf(toNodeId(node)));

function copyOn(node: number, said: Said = {}): HeldCopy {
  const { revision = 8, index = 20, term = 3, unapplied = 0, group = 1, leader } = said;
  return {
    replica: replicaOf(toNodeId(node)),
    group: toGroupId(group),
    revision: toRevision(revision),
    chainHash: HASH,
    last: { index: toLogIndex(index), term: toTerm(term) },
    unapplied,
    voters: said.voters ?? voterSet(replicasOf(1, 2, 3)),
    leader: leader === undefined ? undefined : toNodeId(leader),
  };
}

const OF_FIVE: Said = { voters: voterSet(replicasOf(1, 2, 3, 4, 5)) };

/** Nodes 2 and 3 answer, of five. */
function twoOfFive(said: Said = {}): Order {
  return { copies: [copyOn(2, { ...OF_FIVE, ...said }), copyOn(3, OF_FIVE)], at: 8 };
}

interface Order {
  readonly copies: readonly HeldCopy[];
  readonly from?: number;
  readonly at?: number;
}

function asked({ copies, from = 3, at }: Order) {
  return { kind: 'recover', name: 'db-1', from: toNodeId(from), acceptRevision: at, copies } as const;
}

function fault(order: Order, binding: Binding | undefined = BINDING): string | undefined {
  const found = faultInRecovery(binding, asked(order));
  return found && `${found.code}: ${found.reason}`;
}

describe('a recovery (C25)', () => {
  it.each<[string, Order]>([
    ['one of three is left', { copies: [copyOn(3)], at: 8 }],
    ['two of five are left, and it has as much as the other', twoOfFive()],
    ['the other has less of the log', twoOfFive({ index: 19 })],
    ['the other has a longer log of an earlier term', twoOfFive({ term: 2, index: 99 })],
    [
      'the other answer is about another database of the name',
      { copies: [copyOn(2, { group: 7, leader: 2 }), copyOn(3)], at: 8 },
    ],
    ['its log has entries that are not applied', { copies: [copyOn(3, { unapplied: 2 })], at: 8 }],
  ])('is accepted when %s', (_name, order) => {
    expect(fault(order)).toBeUndefined();
  });

  it.each<[string, Order, RegExp]>([
    [
      'it holds no copy',
      { copies: [copyOn(3)], from: 4, at: 8 },
      /node 4 has no replica of db-1 that votes; nodes 1, 2, 3 have one$/,
    ],
    ['no node answers', { copies: [], at: 8 }, /node 3 does not answer with a replica of db-1; nor does any other/],
    ['only another answers', { copies: [copyOn(2)], at: 8 }, /node 3 does not answer .*; node 2 would$/],
    ['it leads', { copies: [copyOn(3, { leader: 3 })], at: 8 }, /db-1 has a leader, node 3: there is nothing/],
    ['it knows a leader', { copies: [copyOn(3, { leader: 1 })], at: 8 }, /db-1 has a leader, node 1: there is/],
    ['another one leads', { copies: [copyOn(2, { leader: 2 }), copyOn(3)], at: 8 }, /has a leader, node 2/],
    [
      'most of the copies answer',
      { copies: [copyOn(2), copyOn(3)], at: 8 },
      /most replicas of db-1 answer \(nodes 2, 3\), so they can elect a leader/,
    ],
    [
      'another one has a longer log',
      twoOfFive({ index: 21 }),
      /node 2 has more of db-1 than node 3: its log ends with entry 21 of term 3.*; ask for --from 2$/,
    ],
    ['another one has a log of a later term', twoOfFive({ index: 5, term: 4 }), /node 2 has more of db-1 than node 3/],
    [
      'no revision is accepted',
      { copies: [copyOn(3, { unapplied: 2 })] },
      /nothing was recovered\. Node 3 has revision 8 of db-1, chain hash (ab){32}\.\nIts log has 2 more entries, .*\nNo answer from nodes 1, 2\. Data that only they have is lost for good\.\nTo continue .*: cairn cluster recover db-1 --from 3 --accept-revision 8$/,
    ],
    [
      'a learner has more',
      { copies: [copyOn(3), copyOn(4, { index: 21, revision: 9 })] },
      /\nNode 4, a learner, has revision 9 and cannot continue the database\. .*\nTo continue .*--accept-revision 8$/,
    ],
    ['another is accepted', { copies: [copyOn(3)], at: 9 }, /node 3 has revision 8 of db-1, .*, and not revision 9/],
  ])('is rejected with the reason when %s', (_name, order, reason) => {
    expect(fault(order)).toMatch(/^failed_precondition: /);
    expect(fault(order)).toMatch(reason);
  });

  it('needs an existing database', () => {
    expect(faultInRecovery(undefined, asked({ copies: [copyOn(3)], at: 8 }))).toEqual({
      code: 'not_found',
      reason: 'there is no database db-1',
    });
  });

  it('is rejected only with a majority of both halves while the membership changes', () => {
    const voters = { incoming: replicasOf(2, 3, 4), outgoing: replicasOf(1, 5, 6) };
    expect(fault({ copies: [copyOn(2, { voters }), copyOn(3, { voters })], at: 8 })).toBeUndefined();
  });
});

describe('a recovery that is repeated', () => {
  const databaseId = toDatabaseId('0198c0de-0000-7000-8000-00000000cafe');
  const recovery = {
    databaseId: BINDING.databaseId,
    group: BINDING.group,
    rootId: BINDING.databaseId,
    revision: toRevision(8),
    chainHash: HASH,
  };
  const recovered = { ...bindingOn(2, [3]), databaseId, recovery };
  const node: NodeId = toNodeId(3);
  const done = { name: 'db-2', databaseId, before: BINDING.databaseId, node, revision: 8, chainHash: HASH };
  const group = 2;

  it('is accepted without effect when it requests the same', () => {
    expect(recoveredBy(recovered, asked({ copies: [], at: 8 }))).toEqual(done);
    expect(recoveredBy(recovered, asked({ copies: [], at: 9 }))).toBeUndefined();
    expect(recoveredBy(recovered, asked({ copies: [] }))).toBeUndefined();
    expect(recoveredBy(recovered, asked({ copies: [], from: 2, at: 8 }))).toBeUndefined();
    expect(recoveredBy(BINDING, asked({ copies: [], from: 1, at: 8 }))).toBeUndefined();
    expect(recoveredBy(undefined, asked({ copies: [], at: 8 }))).toBeUndefined();
  });

  it('is a new one when the database had further replicas in between and lost them', () => {
    const moved = { ...recovered, placement: 1 };
    expect(recoveredBy(moved, asked({ copies: [copyOn(3, { group, leader: 3 })], at: 8 }))).toEqual(done);
    expect(recoveredBy(moved, asked({ copies: [copyOn(3, { group })], at: 8 }))).toBeUndefined();
    expect(recoveredBy(moved, asked({ copies: [copyOn(3, { group: 1 })], at: 8 }))).toEqual(done);
  });
});
