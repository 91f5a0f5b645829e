// Goal: a read index of one term does not answer a read in the next term, which requests it again (C5, etcd issue
// 20418). Method: the barrier over a group with only the fields that it reads.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, toLogIndex, toTerm } from '#base';
import type { Input } from '#raft';
import type { Group } from '../../../../src/cluster/group/group.ts';
import { GroupReads } from '../../../../src/cluster/group/group-reads.ts';
import { ReadBarrier } from '../../../../src/cluster/group/read-barrier.ts';
import type { Settlement } from '../../../../src/cluster/link.ts';

function world(): {
  readonly barrier: ReadBarrier;
  readonly group: Group;
  readonly to: (term: number, index: number) => void;
  readonly asked: number[];
  readonly settled: Settlement[];
} {
  const reads = new GroupReads();
  const raft = { hardState: { term: toTerm(4) } };
  const written = { index: toLogIndex(6), revision: 6 };
  const asked: number[] = [];
  const settled: Settlement[] = [];
  const group: object = { reads, raft, written, isReady: true };
  const ports: object = {
    reporter: { settle: (each: readonly Settlement[]) => void settled.push(...each) },
    limits: { pendingReadsMax: 10 },
    touch: () => group,
    monotonicMs: () => 0,
    step: (_group: Group, input: Input) => void (input.kind === 'read' && asked.push(input.id)),
  };
  const barrier = new ReadBarrier(ports as ConstructorParameters<typeof ReadBarrier>[0]);
  const to = (term: number, index: number): void => {
    raft.hardState.term = toTerm(term);
    written.index = toLogIndex(index);
    written.revision = index;
    barrier.release(group as Group);
  };
  return { barrier, group: group as Group, to, asked, settled };
}

const READ = { token: 7, group: CATALOG_GROUP };
const ANSWER = { kind: 'read-ready', id: 1, index: toLogIndex(8), term: toTerm(4) } as const;

describe('a read that waits until its index is applied', () => {
  it('is answered when the index is applied in the term of its confirmation', () => {
    const { barrier, group, to, asked, settled } = world();
    barrier.take([READ]);
    barrier.onReady(group, ANSWER);
    to(4, 7);
    expect([asked, settled]).toEqual([[1], []]);
    to(4, 8);
    expect([asked, settled]).toEqual([[1], [{ kind: 'read', token: 7, revision: 8 }]]);
  });

  it('requests the index again when the term has changed, and is answered with the new one', () => {
    const { barrier, group, to, asked, settled } = world();
    barrier.take([READ]);
    barrier.onReady(group, ANSWER);
    to(5, 8);
    expect([asked, settled]).toEqual([[1, 2], []]);
    barrier.onReady(group, { kind: 'read-ready', id: 2, index: toLogIndex(9), term: toTerm(5) });
    to(5, 9);
    expect(settled).toEqual([{ kind: 'read', token: 7, revision: 9 }]);
  });
});
