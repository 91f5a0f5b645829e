// Goal: every proposal that became an entry is settled once: by its own entry, by another at its index, or by a timeout
// (C2, C11). Method: given sequences of leaderships whose entries overlap.
import { describe, expect, it } from 'vitest';
import { NO_BYTES, toGroupId, toLogIndex, toTerm } from '#base';
import { GroupProposals, type Waiting } from '../../../../src/cluster/group/group-proposals.ts';
import type { Proposal } from '../../../../src/cluster/link.ts';

const group = toGroupId(1);

function proposalOf(token: number, payload: Uint8Array = NO_BYTES): Proposal {
  return { token, group, payload, tellsAdmission: false, staysHere: false };
}

function propose(proposals: GroupProposals, term: number, first: number, tokens: readonly number[]): void {
  proposals.offer(tokens.map((token) => proposalOf(token)));
  const answer = { kind: 'proposed', term: toTerm(term), first: toLogIndex(first), refused: undefined } as const;
  proposals.admit({ ...answer, accepted: tokens.length });
}

const tokensOf = (waiting: readonly Waiting[]): readonly number[] => waiting.map(({ proposal }) => proposal.token);

interface Settled {
  readonly token: number | undefined;
  readonly superseded: readonly number[];
}

function apply(proposals: GroupProposals, index: number, term: number): Settled {
  const token = proposals.settle({ index: toLogIndex(index), term: toTerm(term) });
  return { token, superseded: tokensOf(proposals.takeLost().superseded) };
}

it('proposals in flight are settled by their entries, and by no entries of others', () => {
  const proposals = new GroupProposals();
  propose(proposals, 1, 2, [7, 8]);
  expect([1, 2, 3, 4].map((index) => apply(proposals, index, 1).token)).toEqual([undefined, 7, 8, undefined]);
  expect(proposals.count).toBe(0);
});

it('proposals in doubt (C11) are settled by their own entry, and superseded by another one at their index', () => {
  const proposals = new GroupProposals();
  propose(proposals, 1, 2, [7, 8]);
  proposals.doubt(100);
  expect(apply(proposals, 2, 1)).toEqual({ token: 7, superseded: [] });
  expect(apply(proposals, 3, 2)).toEqual({ token: undefined, superseded: [8] });
  expect(proposals.count).toBe(0);
});

it('proposals in doubt (C11) do not hide proposals at the same index of a later leadership of the node', () => {
  const proposals = new GroupProposals();
  propose(proposals, 1, 2, [6, 7, 8]);
  proposals.doubt(100);
  propose(proposals, 3, 3, [9]);
  expect(apply(proposals, 2, 2)).toEqual({ token: undefined, superseded: [6] });
  expect(apply(proposals, 3, 3)).toEqual({ token: 9, superseded: [7] });
  proposals.doubt(200);
  propose(proposals, 5, 4, [10]);
  proposals.doubt(300);
  expect(apply(proposals, 4, 5)).toEqual({ token: 10, superseded: [8] });
});

it('proposals in doubt (C11) time out one by one, counted from the loss of their leadership', () => {
  const proposals = new GroupProposals();
  propose(proposals, 1, 2, [7]);
  proposals.doubt(100);
  propose(proposals, 3, 4, [8]);
  proposals.doubt(200);
  expect(proposals.takeUnknown(99)).toEqual([]);
  expect(proposals.takeUnknown(100)).toEqual([7]);
  expect(apply(proposals, 2, 1)).toEqual({ token: undefined, superseded: [] });
  expect(proposals.abandon()).toEqual([8]);
});

describe('proposals that another node has accepted', () => {
  const expected = (proposals: GroupProposals, token: number, index: number, term: number): void =>
    proposals.expect({ proposal: proposalOf(token), index: toLogIndex(index), term: toTerm(term) }, 100);

  it('are settled when they are applied, for any order in which their indexes arrive', () => {
    const proposals = new GroupProposals();
    expected(proposals, 7, 4, 1);
    expected(proposals, 8, 2, 2);
    expected(proposals, 9, 3, 2);
    expect([2, 3, 4].map((index) => apply(proposals, index, 2))).toEqual([
      { token: 8, superseded: [] },
      { token: 9, superseded: [] },
      { token: undefined, superseded: [7] },
    ]);
    expect(proposals.count).toBe(0);
  });

  it('are unknown when their index was skipped', () => {
    const proposals = new GroupProposals();
    expected(proposals, 7, 4, 1);
    expected(proposals, 8, 9, 1);
    expect(proposals.settle({ index: toLogIndex(9), term: toTerm(1) })).toBe(8);
    expect([proposals.count, tokensOf(proposals.takeLost().unknown), proposals.count]).toEqual([1, [7], 0]);
  });

  it('are not counted by the node that accepted them', () => {
    const proposals = new GroupProposals();
    propose(proposals, 1, 2, [-1, 7]);
    expect(proposals.count).toBe(1);
    expect([2, 3].map((index) => apply(proposals, index, 1).token)).toEqual([undefined, 7]);
  });
});

it('awaited proposals count in the memory of the node until they are settled, skipped or timed out', () => {
  const held = { bytes: 0 };
  const proposals = new GroupProposals(undefined, held);
  const awaits = (token: number, index: number): void =>
    proposals.expect(
      { proposal: proposalOf(token, new Uint8Array(10)), index: toLogIndex(index), term: toTerm(1) },
      100,
    );
  for (const at of [2, 3, 4, 5]) awaits(at, at);
  expect(held.bytes).toBe(40);
  apply(proposals, 2, 1);
  apply(proposals, 4, 1);
  expect(held.bytes).toBe(10);
  proposals.takeUnknown(100);
  expect(held.bytes).toBe(0);
});

it('waiting proposals time out oldest first, with their bytes', () => {
  const proposals = new GroupProposals();
  for (const token of [1, 2, 3]) proposals.wait(proposalOf(token, new Uint8Array(token)), token * 10);
  expect(proposals.takeLate(20)).toEqual([1, 2]);
  expect(proposals.waitingBytes).toBe(3);
  expect(proposals.takeWaiting().map(({ proposal }) => proposal.token)).toEqual([3]);
});
