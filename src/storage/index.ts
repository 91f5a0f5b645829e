/**
 * #storage: the disk. Everything of Cairn that must outlive the process passes through here.
 *
 * For: the write-ahead log that all Raft groups of a node share (its records, its writer, its recovery); LevelDB as the
 * kv port, for the applied state and the committed log of every database; the guard of free disk space.
 *
 * Not here: what an entry or a row means (#database) and when it is written (#raft, #cluster).
 *
 * A failed write or sync, and a checksum that does not match on our own data, are fatal. They are reported to the code
 * that runs the node, which stops it, and are never tried again.
 */

export { openFilesMax, segmentFilesMax } from './basis/descriptors.ts';
export { RESTORE_HINT, StorageFailure } from './basis/storage-failure.ts';
export { type Checkpoint, NO_CHECKPOINT } from './checkpoint.ts';
export { DirectLog } from './direct-log.ts';
export { type Disk, patientDisk } from './disk.ts';
export { DiskGuard, type DiskGuardOptions, type DiskReport, diskUsedPercent } from './disk-guard.ts';
export { type DiskLevel, type DiskThresholds, defaultHardBytes, defaultThresholds } from './disk-level.ts';
export { Ledger, ledgerIn } from './ledger.ts';
export { faultOfLevelFiles, removeLevelFiles } from './level-files.ts';
export type { LevelStats } from './level-stats.ts';
export {
  compactionBytesMax,
  isLevelLocked,
  isLevelStoreInUse,
  isStoreDamage,
  type LevelStore,
  type LevelStoreOptions,
  openLevelStore,
} from './level-store.ts';
export { type EncodedRecords, PAYLOAD_BYTES_MAX, RecordWriter, type RowChange } from './log-records.ts';
export { LogThread } from './log-thread.ts';
export type { BatchId, LogWriter, PersistedFacts, RecoveredGroup, RecoveredLog } from './log-writer.ts';
export { historiesIn } from './segments/histories.ts';
export { recordsOfSegment, type SealedFile, sealedSegment } from './segments/segment-export.ts';
export { scrubSegments } from './segments/segment-scrub.ts';
export { SEGMENT_BYTES_DEFAULT, Wal } from './wal.ts';
export type { WalIdentity } from './wal-format.ts';
