// Defects of the ledger (docs/formats/ledger.md).
import type { Mutant } from './mutant.ts';

export const LEDGER_MUTANTS: readonly Mutant[] = [
  {
    name: 'ledger-not-synced',
    file: 'src/storage/ledger.ts',
    find: '    await file.writeThrough(batch.bytes, end.offset);\n',
    replace: '    file.write(batch.bytes, end.offset);\n',
    breaks: 'a power failure takes the catalog back',
  },
  {
    name: 'ledger-named-without-sync',
    file: 'src/storage/ledger.ts',
    find: '    this.#disk.rename(draft.path, path);\n    await this.#disk.syncDirectory(this.#directory);\n',
    replace: '    this.#disk.rename(draft.path, path);\n',
    breaks: 'a power failure brings the file back that was replaced',
  },
];
