/**
 * Defects of the segment files of histories (docs/formats/segments.md), and of what a database does with its history
 * (docs/formats/history.md).
 */
import type { Mutant } from './mutant.ts';

const SEGMENTS = 'src/storage/segments';
const SYNC_FILES =
  '    await inParallel(AT_ONCE, [...files], (path) => orUnwrittenLater(path, this.#disk.syncFile(path).catch(orRemoved)));\n';
const SYNC_DIRECTORIES = `    await inParallel(AT_ONCE, [...directories], (path) =>
      orUnwrittenLater(path, this.#disk.syncDirectory(path).catch(orRemoved)),
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
  },
  {
    name: 'unsynced-history-of-the-last-process',
    file: `${SEGMENTS}/segment-cut.ts`,
    find: '  const files = end > synced.end ? await writeAgain(ports, bases, synced.end, end).catch(ignoring(isUnreadable)) : [];',
    replace: '  void writeAgain;\n  const files: string[] | undefined = [];',
    breaks: 'records that the last process has not synced are never synced',
    run: { aimed: true },
  },
  {
    name: 'cut-keeps-later-segments',
    file: `${SEGMENTS}/segment-cut.ts`,
    find: '  for (const base of removed.toReversed()) await ports.remove(`${ports.directory}/${segmentName(base)}`);\n',
    replace: '',
    breaks: 'segments behind the end of a history stay',
  },
  {
    name: 'history-beyond-the-rows-kept',
    file: 'src/cluster/core/crash-recovery.ts',
    find: '  if ((await kv.cutHistory(group, applied.end, checkpoint.history)) !== applied.end) return LOST;\n',
    replace: '',
    breaks: 'records without rows stay in a history that is written on',
  },
  {
    name: 'files-not-looked-for-again',
    file: `${SEGMENTS}/segment-reader.ts`,
    find: '      this.#files.forget(group);\n',
    replace: '',
    breaks: 'a reader does not find segments that were begun since it listed them',
  },
  {
    name: 'segment-for-each-flush',
    file: 'src/database/database-writer.ts',
    find: '    if (position > 0 && position < this.#state.segmentStart + this.#segmentBytes) return position;',
    replace: '    if (position > 0 && this.#current.records.byteLength > 0) return position;',
    breaks: 'replicas have other segments of one history',
    run: { nodes: 3 },
  },
  {
    name: 'control-rows-not-made-again',
    file: 'src/database/database-writer.ts',
    find: '    if (isControl(record)) this.#noteControl({ ...record, hash: copyRange(record.hash) });\n    else {',
    replace:
      '    if (isControl(record)) {\n      if (record.kind === RECORD.DEFINITION) this.#state.definitions += 1;\n      this.#state.control = { position: record.position, hash: copyRange(record.hash) };\n      this.#state.end = record.end;\n    } else {',
    breaks: 'definitions and refusals are not found any more when rows were made again from the history',
    run: { definitions: true },
  },
];
