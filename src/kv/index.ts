/**
 * #kv: the ordered store of rows that everything durable and applied is kept in, as the pure layers see it.
 *
 * For: the port (`KvReader` for readers, `KvStore` for the one writer), and keys whose bytes sort as their parts do.
 * The implementation on disk is in #storage, the one in memory in test/support/memory-kv.ts.
 *
 * Not here: what the rows mean (#database), checksums (writers of values add their own), and files.
 *
 * Invariants, each checked by test/support/kv-conformance.ts for every implementation, K7 and K8 by the tests of the
 * keys:
 *   K1  Rows are ordered by the unsigned bytes of their keys.
 *   K2  A batch is written whole or not at all; of two operations on one key the later counts. The store of a node is
 *       an exception: it writes rows of its ledger last, and a crash may leave them out (#cluster, ledger-store.ts).
 *   K3  A range shows the rows as of its opening, without later writes.
 *   K4  A read sees every write whose promise has resolved, through every handle of the process.
 *   K5  A put copies its arguments, and the result of a read never changes: the buffers are not shared.
 *   K6  `next` answers without a row only at the end of the range, and never with more rows than were asked for.
 *   K7  Keys written as tuples of the same shape sort as the tuples do, part by part.
 *   K8  The keys that begin with a prefix are exactly those from the prefix up to its `prefixEnd`.
 *   K10 A history shows the bytes that were appended to it, or a fault; no row of a batch is seen before its records.
 */
export {
  type HistoryAppend,
  type HistoryEnd,
  HistoryFault,
  type HistoryRange,
  type HistoryReader,
  isHistoryDamage,
  NO_HISTORY,
  RECORD,
  ReadMemory,
  type SegmentStart,
} from './history.ts';
export { KeyWriter, prefixEnd, readTerm, readU16, readU32, readU64 } from './keys.ts';
export {
  CHUNK_BYTES_DEFAULT,
  type KvBatch,
  type KvRange,
  type KvRangeOptions,
  type KvReader,
  type KvRow,
  type KvStore,
  STORE_DAMAGED,
} from './port.ts';
