/** Defects of the definitions of a database. They run with clients that define components. */
import type { Mutant } from './mutant.ts';

export const DEFINITION_MUTANTS: readonly Mutant[] = [
  {
    name: 'version-number-given-again',
    file: 'src/database/definition-ledger.ts',
    find: '    name.last += 1;\n',
    replace: '    name.last = 1 + Math.max(0, ...name.versions.keys());\n',
    breaks: 'a version gets the number of one that was deleted',
    run: { nodes: 3, definitions: true, first: [7] },
  },
  {
    name: 'bytes-removed-while-named',
    file: 'src/database/definition-ledger.ts',
    find: '      if (blob.versionCount === 0) removed.push(',
    replace: '      if (blob.versionCount <= 1) removed.push(',
    breaks: 'a component loses its bytes while one version names it still',
    run: { nodes: 3, definitions: true },
  },
  {
    name: 'status-forgotten',
    file: 'src/database/definition-ledger.ts',
    find: '    if (isNew) name.versions.set(version, { ...before, status });\n',
    replace: '    if (isNew && status.active) name.versions.set(version, { ...before, status });\n',
    breaks: 'a version that was acknowledged as inactive stays active',
    run: { nodes: 3, definitions: true, first: [7] },
  },
  {
    name: 'bytes-before-their-removal',
    file: 'src/database/definition-journal.ts',
    find: '    const key = this.#reader.keys.componentPart(digestBytes(blob.digest), part).slice();\n    this.#pending.push({ key, value: row.take() });\n',
    replace:
      '    const key = this.#reader.keys.componentPart(digestBytes(blob.digest), part).slice();\n    this.#pending.unshift({ key, value: row.take() });\n',
    breaks: 'a component that is removed and brought again within a batch is lost',
    run: { nodes: 3, definitions: true, first: [34] },
  },
];
