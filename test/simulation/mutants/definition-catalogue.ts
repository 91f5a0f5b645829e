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
    name: 'component-forgotten-while-named',
    file: 'src/database/definition-ledger.ts',
    find: '    if (blob.versionCount === 0) this.#blobs.delete(digest);',
    replace: '    if (blob.versionCount <= 1) this.#blobs.delete(digest);',
    breaks: 'a component is forgotten while one version names it still',
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
    name: 'part-of-every-other-definition',
    file: 'src/database/control-rows.ts',
    find: "  return entry?.kind === 'part' ? [",
    replace: "  return entry?.kind === 'part' && definitions % 2 === 1 ? [",
    breaks: 'the bytes of some components are not found',
    run: { nodes: 3, definitions: true },
  },
];
