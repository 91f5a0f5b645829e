/**
 * #database: the replicated state of one database and of the catalog, and how to read it.
 *
 * For: deciding a transaction and writing what follows from it (records, heads, postings, ids, times), the same on
 * every replica; and the readers that give records and rows back, verified. docs/formats has every byte.
 *
 * Not here: how entries get ordered (#raft), when rows get written (#cluster), answering queries (#query).
 * Invariants:
 *   D1  Every value carries a CRC-32 that is verified on every read; `CorruptRecord` is one that fails,
 *       fatal; `UnexpectedRow` one that is missing or not what was looked for, which ends that read alone.
 *   D2  (stream, stored id) is unique; a taken id gets its position as a suffix, repeatedly until it is free.
 *   D3  A flush is one batch with the applied row of exactly what it holds; later entries see what waits for one.
 *   D4  L of a selector is the revision of the latest event that matches it before the transaction, whatever its form.
 *   D5  Recorded time never goes back from one revision to the next, nor before the creation of the database.
 *   D6  The filter in memory never decides: what it may know is looked up, and what it denies has no row.
 *   D7  A reader at an applied revision sees exactly the events up to it, whatever is written meanwhile.
 *   D8  Outcomes, the history, its segments and all rows but those of times follow from the log alone.
 *   D9  An entry of an unknown format or kind stops the node before anything changes.
 *   D10 A name is bound to one instance at most; no group and no database_id is used twice.
 *   D11 A gap above a durable point is noticed; every row can be rebuilt from history, log and catalog.
 *   D12 What a reader lends is whole until it is released, and nothing that was read before is looked at after that.
 *   D13 What constraints make apply look at is bounded, and counted in what follows from the log alone.
 *   D14 A node's number belongs to one store, and is given once; registering again is safe to repeat.
 *   D15 A replica that is leaving keeps its copy until its group is without it; no replica id is given twice.
 *   D16 An installed history continues the local one, by its chain of hashes, up to an entry of the log.
 *   D17 A node is removed when it was leaving and no database names it any more, and is then never a node again; one at
 *       least is always active, and no database gets a copy on one that is not.
 *   D18 Bytes that readers share are of the replica that is read, and were verified before they are used.
 *   D19 A recovered instance has the history of its copy, unchanged; its chain begins with the first instance's id.
 */
export type { Applied } from './applied.ts';
export { auditDatabase, auditInUse, groupsWithRows } from './audit.ts';
export type { CatalogDifference } from './catalog-diff.ts';
export { type CatalogEntry, encodeCatalogEntry, faultInForwardedEntry } from './catalog-entry.ts';
export { COPIES } from './catalog-fields.ts';
export { API_KEYS_MAX, type KeyOutcome, TOKENS_MAX } from './catalog-keys.ts';
export { readLevel } from './catalog-level.ts';
export {
  CatalogMachine,
  type CatalogOutcome,
  type PlaceOutcome,
  type RaiseOutcome,
  type RecoverOutcome,
  type Refounding,
} from './catalog-machine.ts';
export {
  faultInRegistration,
  isSame,
  type MarkOutcome,
  mayVote,
  type NodeRegistration,
  type NodeState,
  type RegisteredNode,
  type RegisterOutcome,
  readNodes,
} from './catalog-nodes.ts';
export type { Recovery } from './catalog-recovery.ts';
export type { Binding } from './catalog-rows.ts';
export { CatalogExport, CatalogImport } from './catalog-snapshot.ts';
export type { HistoryPoint } from './chain.ts';
export { compareHistory, decodePoint, differenceBetween, encodePoint, type HistoryVerdict } from './compare-history.ts';
export { refusalOf } from './control-rows.ts';
export { corruptRows, isCorruptRecord, isFaultOfRow, openRow, unexpectedRecord, unexpectedRow } from './corruption.ts';
export {
  DatabaseMachine,
  type Defined,
  type MachineOptions,
  type RangeNeed,
  type TransactOutcome,
} from './database-machine.ts';
export { DefinitionLedger, type DefinitionOutcome, LEDGER_LIMITS, type LedgerLimits } from './definition-ledger.ts';
export { findEvent } from './event-identity.ts';
export { type DatabaseFacts, databaseAt, genesisHash, lastRevision, type NewDatabase } from './facts.ts';
export { type HeadContent, readTimeRow } from './head.ts';
export { type CutPoint, HistoryCut } from './history-cut.ts';
export { type CheckedRecords, HistoryExport, HistoryImport, type HistoryPart } from './history-transfer.ts';
export { type Hits, settled } from './hits.ts';
export { HEAD_KIND, type HeadKind, type HeadName, NO_SUBJECT_HEAD, RowKeys, readTimeKey } from './keys.ts';
export { type HeadLookup, latestOf } from './latest.ts';
export { listHits } from './list-hits.ts';
export { equalitiesOf, type Lists, listsOf, type Prefix } from './lists.ts';
export { type EventPlace, type PostingEntry } from './posting.ts';
export { END_RANK, INDEX_MAX, positionOf, type RankRange, rankOf, rankRange } from './rank.ts';
export {
  componentBytes,
  type DefinitionChange,
  type Definitions,
  definitionsBetween,
  lastDefinition,
  loadLedger,
  ReadDefinitions,
} from './read-definitions.ts';
export { DatabaseReader, type DatabaseSource, eventsOf, type StoredEvent } from './reader.ts';
export { rebuildDerived, withdrawRows } from './rebuild.ts';
export { type LogPlace, type StoredTransaction, type TransactionHead } from './record.ts';
export { rootOf } from './recovered-binding.ts';
export { copyRows, recoverInto } from './recovered-rows.ts';
export { type KeptRefusal } from './refusal-record.ts';
export { unreadableIn } from './unreadable.ts';
export { type DurablePoint, verifyHistory } from './verify.ts';
export { walkHeads } from './walks.ts';
