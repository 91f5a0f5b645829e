// Goal: a read whose index was confirmed in one term is not answered in the next: its leader may have been deposed
// meanwhile, and it asks again (C5, etcd issue 20418); and what is traced of reads ends with them. Method: the barrier
// over a group that is only what it looks at.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type DatabaseError, replicaOf, toLogIndex, toNodeId, toTerm } from '#base';
import type { Input } from '#raft';
import type { Group } from '../../../../src/cluster/group/group.ts';
import { GroupReads } from '../../../../src/cluster/requests/group-reads.ts';
import { ReadBarrier } from '../../../../src/cluster/requests/read-barrier.ts';
import { noLeader } from '../../../../src/cluster/requests/refusals.ts';
import { TracedCalls } from '../../../../src/cluster/requests/traced-calls.ts';
import type { Settlement, SpanFact } from '../../../../src/cluster/thread/link.ts';

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
  it('is answered when that is so in the term in which it was confirmed', () => {
    const { barrier, group, to, asked, settled } = world();
    barrier.take([READ]);
    barrier.onReady(group, ANSWER);
    to(4, 7);
    expect([asked, settled]).toEqual([[1], []]);
    to(4, 8);
    expect([asked, settled]).toEqual([[1], [{ kind: 'read', token: 7, revision: 8 }]]);
  });

  it('asks again when the term is another one by then, and is answered by what it is told now', () => {
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

interface TracedWorld {
  readonly barrier: ReadBarrier;
  /** Another one with the same number, which counts its questions anew. */
  readonly groupAnew: () => Group;
  /** How often reads were asked for that could be traced. */
  readonly lookedAt: () => number;
  readonly told: SpanFact[];
  isHere: boolean;
}

/** Groups whose leader is another node, and never answers by itself. */
function tracedWorld(limits = { pendingReadsMax: 10 }): TracedWorld {
  const told: SpanFact[] = [];
  const calls = new TracedCalls({
    isTraced: true,
    monotonicMs: () => 0,
    random: { bytes: (length) => new Uint8Array(length).fill(1) },
    told: (span) => told.push(span),
  });
  let lookedAt = 0;
  const counted: Pick<TracedCalls, 'reading' | 'close'> = {
    reading: (contexts, step) => {
      lookedAt += 1;
      return calls.reading(contexts, step);
    },
    close: (span, error) => calls.close(span, error),
  };
  let group: object = {};
  const leader = replicaOf(toNodeId(2));
  const ports: object = {
    reporter: { settle: () => undefined, refuse: () => undefined },
    limits,
    touch: () => (made.isHere ? group : undefined),
    absence: (): DatabaseError => noLeader({ name: 'shop' } as never),
    monotonicMs: () => 0,
    step: (asked: Group) => void calls.sending(asked, leader, { kind: 'read-request', term: toTerm(4), id: 90 }),
    calls: counted,
  };
  const groupAnew = (): Group => {
    group = {
      id: CATALOG_GROUP,
      reads: new GroupReads(),
      raft: { hardState: { term: toTerm(4) } },
      written: { index: toLogIndex(9), revision: 9 },
      isReady: false,
      leads: false,
      leader,
    };
    return group as Group;
  };
  const barrier = new ReadBarrier(ports as ConstructorParameters<typeof ReadBarrier>[0]);
  const made = { barrier, groupAnew, lookedAt: () => lookedAt, told, isHere: true };
  return made;
}

const TRACED = { ...READ, trace: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` } };

describe('what is traced of a read', () => {
  it('ends with its group, and is no part of what is asked for the next one of that number', () => {
    const { barrier, groupAnew, told } = tracedWorld();
    const first = groupAnew();
    barrier.take([TRACED]);
    barrier.closed(first);
    const ended = [
      expect.objectContaining({ what: 'read', failure: expect.objectContaining({ code: 'unavailable' }) }),
    ];
    expect(told).toEqual(ended);
    const second = groupAnew();
    barrier.take([READ]);
    barrier.onReady(second, ANSWER);
    expect(told).toEqual(ended);
  });

  it('is forgotten when it is refused: nobody looks for it among those that come', () => {
    const limits = { pendingReadsMax: 0 };
    const made = tracedWorld(limits);
    made.groupAnew();
    made.barrier.take([TRACED]);
    limits.pendingReadsMax = 10;
    made.isHere = false;
    made.barrier.take([{ ...TRACED, token: 8 }]);
    made.isHere = true;
    made.barrier.take([{ ...READ, token: 9 }]);
    expect(made.lookedAt()).toBe(0);
  });
});
