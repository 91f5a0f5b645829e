// Defects of guarantees that several places keep: all places are broken, because one alone would have no effect.
import type { Mutant } from './mutant.ts';

export const GUARDED_MUTANTS: readonly Mutant[] = [
  {
    name: 'two-snapshots-at-once',
    file: 'src/cluster/snapshots/snapshot-receiver.ts',
    find: '    if (each.parts.length === 0 || !group.isQuiescent) return;',
    replace: '    if (each.parts.length === 0) return;',
    and: [
      {
        file: 'src/raft/leader-messages.ts',
        find: '  if (state.installing !== undefined) return unchanged(state);\n  const { last } = snapshot;',
        replace: '  const { last } = snapshot;',
      },
    ],
    breaks: 'a second snapshot is begun while the first is installed',
    anchor: 'etcd #18055',
    run: { nodes: 3, aimed: true, first: [21] },
  },
  {
    name: 'hole-accepted',
    file: 'src/storage/wal-recovery.ts',
    find: '      if (number !== first + place) throw',
    replace: '      if (number < first + place) throw',
    and: [
      {
        // The end of the previous segment in each header.
        file: 'src/storage/wal-recovery.ts',
        find: '    if (before !== undefined && (seq',
        replace: '    if (before !== undefined && before.seq < 0 && (seq',
      },
      {
        // Every summary is trusted, so the chains and the entries after it fit.
        file: 'src/storage/wal-recovery.ts',
        find: '    const read = this.#end === undefined ? restoreSummary : compareSummary;',
        replace:
          '    const read = this.#end === undefined || compareSummary !== undefined ? restoreSummary : compareSummary;',
      },
      {
        file: 'src/storage/wal-recovery.ts',
        find: '      if (entries.length !== lastIndex - checkpoint.index) {',
        replace: '      if (entries.length < 0) {',
      },
    ],
    breaks: 'a log is gone on with that lacks a segment in its middle',
    run: { cuts: true, first: [4] },
  },
  {
    name: 'store-behind-its-checkpoint',
    file: 'src/cluster/core/crash-recovery.ts',
    find: '  if (applied === undefined || applied.index < checkpoint.index) {',
    replace: '  if (applied === undefined) {',
    and: [
      {
        file: 'src/cluster/core/crash-recovery.ts',
        find: '  if (applied.index < from || applied.index > last) {',
        replace: '  if (applied.index > last) {',
      },
      {
        file: 'src/cluster/core/group-lifecycle.ts',
        find: "  assert(checkpoint.index <= applied.index, 'The store is not behind its checkpoint', [checkpoint, applied]);\n",
        replace: '',
      },
    ],
    breaks: 'a store that has lost what its checkpoint stands for is gone on with',
    run: { cuts: true },
  },
];
