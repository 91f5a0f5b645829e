/**
 * Defects of the segment files of histories (docs/formats/segments.md), and of what a database does with its history
 * (docs/formats/history.md).
 */
import type { Mutant } from './mutant.ts';

const SEGMENTS = 'src/storage/segments';
const SYNC_FILES =
  '    await inParallel(AT_ONCE, [...files], (path) => orUnwritten(path, this.#disk.syncFile(path).catch(orRemoved)));\n';
const SYNC_DIRECTORIES = `    await inParallel(AT_ONCE, [...directories], (path) =>
      orUnwritten(path, this.#disk.syncDirectory(path).catch(orRemoved)),
    );
`;

export const SEGMENT_MUTANTS: readonly Mutant[] = [
  {
    name: 'history-not-synced',
    file: `${SEGMENTS}/segment-writer.ts`,
    find: SYNC_FILES,
    replace: '',
    breaks: 'a checkpoint says that records are on disk that are not',
  },
  {
    name: 'history-directory-not-synced',
    file: `${SEGMENTS}/segment-writer.ts`,
    find: SYNC_DIRECTORIES,
    replace: '',
    breaks: 'a synced segment is lost with its name',
  },
  {
    name: 'new-segment-name-not-synced',
    file: `${SEGMENTS}/segment-writer.ts`,
    find: '    this.#directories.add(this.#directoryOf(group));\n',
    replace: '',
    breaks: 'a synced segment behind others is lost with its name',
    run: { segments: true },
  },
];
