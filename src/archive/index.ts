/**
 * #archive: histories of databases in an object store, and their restore.
 *
 * For: the port of an object store; manifests, which say what an archive has; the archiver, which continues an archive
 * from the history of a node, and when its rounds begin; the catalog of a cluster; the plan of a restore, and the
 * verified bytes of its objects; retention.
 *
 * Not here: where objects are stored (#objects), what records and segments contain (to this layer they are bytes),
 * which databases a node archives, and who makes a database of what is restored.
 *
 * A manifest is created only if there is none with its number. Everything else may be repeated or raced.
 *
 * Invariants:
 *   X1  The objects of a manifest cover the history from position 0 to its end: each begins where the one before ends.
 *   X2  The newest manifest is found, whatever the listing conceals; damaged ones are named.
 *   X3  Only committed records are archived, and a manifest never ends before its basis.
 *   X4  Of two archivers with different histories under one database_id, the second one is refused.
 *   X5  A restore gives exactly the records up to its point, or names the object that it cannot use.
 *   X7  Retention removes no object that the last 64 manifests name, nor one that a later manifest can name.
 *   X8  A former leader of the catalog never hides, in the archive, what a later one has written.
 */
export { ArchiveDriver, type ArchiveProgress } from './archive-driver.ts';
export { ArchiveFault, archivedDatabases } from './archive-names.ts';
export { archivedCatalogs, CatalogArchiver } from './archived-catalog.ts';
export {
  Archiver,
  type ArchiverPorts,
  type ArchiveSource,
  type HistoryState,
  type Round,
  type SealedSegment,
} from './archiver.ts';
export { type ArchivedDatabase, type ArchivedObject, type ArchivedTail, endOf, type Manifest } from './manifest.ts';
export {
  bytesOf,
  contentOf,
  type Hash,
  hashOf,
  type NewHash,
  type ObjectContent,
  type ObjectStore,
} from './object-store.ts';
export { type ArchivePorts, type OpenedArchive, openArchive } from './open-archive.ts';
export { type PlannedObject, planRestore, type RestorePlan, type RestorePoint, readObject } from './restore-plan.ts';
export { type Pruned, pruneArchive } from './retention.ts';
