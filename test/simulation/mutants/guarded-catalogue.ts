/**
 * Ways to break the node where two places keep one promise: both are broken, as neither alone would show. They are
 * tried with three nodes.
 */
import type { Mutant } from './mutant.ts';

export const GUARDED_MUTANTS: readonly Mutant[] = [
  {
    name: 'two-snapshots-at-once',
    file: 'src/cluster/snapshots/snapshot-receiver.ts',
    find: '    if (each.parts.length === 0 || !group.isQuiescent) return;',
    replace: '    if (each.parts.length === 0) return;',
    and: [
      {
        file: 'src/raft/following.ts',
        find: '  if (state.installing !== undefined) return unchanged(state);\n  const { last } = snapshot;',
        replace: '  const { last } = snapshot;',
      },
    ],
    breaks: 'a second snapshot is begun while the first is installed',
    anchor: 'etcd #18055',
    nodes: 3,
    aimed: true,
  },
  {
    name: 'store-behind-its-checkpoint',
    file: 'src/cluster/core/recovery.ts',
    find: '  if (applied.index < from || applied.index > last) {',
    replace: '  if (applied.index > last) {',
    and: [
      {
        file: 'src/cluster/core/group-lifecycle.ts',
        find: "  assert(checkpoint.index <= applied.index, 'The store is not behind its checkpoint', [checkpoint, applied]);\n",
        replace: '',
      },
    ],
    breaks: 'a store that has lost what its checkpoint stands for is gone on with',
    nodes: 3,
    cuts: true,
  },
];
