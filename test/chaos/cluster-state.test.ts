// Goal: what a run of chaos believes of a cluster that it changes is what somebody knows who can know it. Method:
// descriptions as nodes give them, of before and of now.
import { describe, expect, it } from 'vitest';
import type { ClusterDescription } from '#cluster';
import { isRemoved, whyNotToLose } from '../../chaos/cluster/cluster-state.ts';

const NODES = [
  [1, 'removed', 'none'],
  [2, 'active', 'voter'],
  [3, 'active', 'voter'],
  [4, 'active', 'voter'],
] as const;

interface Parts {
  readonly isConfirmed?: boolean;
  readonly silent?: readonly number[];
  readonly isSettled?: boolean;
  readonly voters?: readonly number[];
}

function described({
  isConfirmed = true,
  silent = [],
  isSettled = true,
  voters = [2, 3, 4],
}: Parts): ClusterDescription {
  const members = voters.map((node) => ({ node, isVoter: true, standing: 'ready', lag: 0 }));
  return {
    node: 2,
    isConfirmed,
    nodes: NODES.map(([node, state, catalogRole]) => ({ node, state, catalogRole, answers: !silent.includes(node) })),
    databases: [{ name: 'orders', nodes: [2, 3, 4], isSettled, members }],
  } as unknown as ClusterDescription;
}

describe('a node that is to be gone', () => {
  it('is so when somebody says that it was removed', () => {
    expect([isRemoved(described({}), 1), isRemoved(described({}), 2)]).toEqual([true, false]);
  });

  it('is not so because somebody has never heard of it', () => {
    expect(() => isRemoved(described({}), 5)).toThrow('node 2 does not know node 5 yet');
  });
});

describe('a volume', () => {
  it('may be lost when what it holds is with two others', () => {
    expect(whyNotToLose(described({}), 4)).toBeUndefined();
    expect(whyNotToLose(described({ voters: [2, 3] }), 1)).toBeUndefined();
  });

  it('may not be lost while that is not known, or not so', () => {
    expect([
      whyNotToLose(described({ isConfirmed: false }), 4),
      whyNotToLose(described({ silent: [3] }), 4),
      whyNotToLose(described({ isSettled: false }), 4),
      whyNotToLose(described({ voters: [2, 4] }), 4),
    ]).toEqual([
      'node 2 has not heard who leads the catalog',
      'of the voters of the catalog 2 answer, not 3',
      'orders has no 3 copies yet, one of them on node 4',
      'orders has no 3 copies yet, one of them on node 4',
    ]);
  });
});
