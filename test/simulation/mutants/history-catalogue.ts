/**
 * Defects of the detection of two histories under one name, and of the way in which a member gets lost entries again.
 */
import type { Mutant } from './mutant.ts';

const RESTORED = { run: { nodes: 3, restored: true } } as const;

export const HISTORY_MUTANTS: readonly Mutant[] = [
  {
    name: 'lost-acknowledgement-ignored',
    file: 'src/raft/progress.ts',
    find: "      if (event.previous !== next - 1 || progress.waitsFor === 'storage') return progress;",
    replace:
      "      if (event.previous !== next - 1 || event.previous <= match || progress.waitsFor === 'storage') return progress;",
    breaks: 'a leader goes by what a member had acknowledged before its disk was put back',
    ...RESTORED,
  },
  {
    name: 'history-not-compared',
    file: 'src/raft/leader-messages.ts',
    find: '  if (previous.index > commit) return undefined;',
    replace: '  if (commit >= 0) return undefined;',
    and: [
      {
        file: 'src/cluster/group/histories.ts',
        find: '  #compare({ id, machine }: Group, standing: Uint8Array): HistoryVerdict {',
        replace:
          "  #compare({ id, machine }: Group, standing: Uint8Array): HistoryVerdict {\n    if (id >= 0) return 'same';",
      },
    ],
    breaks: 'neither terms of committed entries nor chain hashes are compared',
    ...RESTORED,
  },
  {
    name: 'diverged-replica-serves',
    file: 'src/cluster/front/front-node.ts',
    find: '    this.#diverged.add(group);',
    replace: '    if (group < 0) this.#diverged.add(group);',
    breaks: 'a replica that has left its group goes on answering reads',
    ...RESTORED,
  },
  {
    name: 'divergence-forgotten',
    file: 'src/cluster/group/divergences.ts',
    find: '    if (known.replica === group.self) this.#leave(group, known);',
    replace: '    if (known.replica === group.self && group.id < 0) this.#leave(group, known);',
    breaks: 'a node that starts again does not go by what it knows of its replicas',
    ...RESTORED,
  },
];
