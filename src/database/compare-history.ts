/**
 * The end of a history, for another replica, and whether one history is a prefix of another, by the hashes (D3).
 *
 * ```
 * point := varint revision, 32 bytes H(revision), [varint position of the last control record, 32 bytes its hash]
 * ```
 * The hash of a control record proves the payloads of those before it and the bodies of the transactions before it;
 * H(revision) proves the other bodies.
 */
import { ByteReader, ByteWriter, compareBytes, toHex } from '#base';
import { type Applied, readControlMark, writeControlMark } from './applied.ts';
import { HASH_BYTES } from './applied-state.ts';
import type { HistoryPoint } from './chain.ts';
import { isFaultOfRow } from './corruption.ts';
import { genesisHash } from './facts.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import type { TransactionHead } from './record.ts';

/** The first difference, with both values. */
export interface HistoryDifference {
  readonly what: string;
  readonly here: string;
  readonly there: string;
}

/** `beyond`: the other one has come further than this one, and there is nothing to compare it with. */
export type HistoryVerdict = 'same' | 'beyond' | HistoryDifference;

export function encodePoint({ revision, chainHash, control }: HistoryPoint): Uint8Array {
  const writer = new ByteWriter();
  writer.varint(revision);
  writer.bytes(chainHash);
  if (control !== undefined) writeControlMark(writer, control);
  return writer.take();
}

/** Undefined for bytes that are no point of a history. */
export function decodePoint(bytes: Uint8Array): HistoryPoint | undefined {
  const reader = new ByteReader(bytes);
  const revision = reader.varint();
  const chainHash = reader.bytes(HASH_BYTES).slice();
  const control = reader.left > 0 ? readControlMark(reader) : undefined;
  return reader.failed || reader.left > 0 ? undefined : { revision, chainHash, control };
}

/** Compares the history that ends at the point with the beginning of the one in this store. */
export function compareHistory(source: DatabaseSource, point: HistoryPoint): HistoryVerdict {
  const reader = new DatabaseReader(source);
  const applied = reader.applied();
  if (applied === undefined || point.revision > applied.revision) return 'beyond';
  const { chainHash } = stateAt(reader, applied, point.revision);
  const difference = differenceBetween(`the chain hash of revision ${point.revision}`, chainHash, point.chainHash);
  if (difference !== undefined || point.control === undefined) return difference ?? 'same';
  const { position, hash } = point.control;
  const isBehindEnd = position >= applied.end;
  // With fewer transactions it cannot have more.
  if (isBehindEnd && point.revision === applied.revision) return 'beyond';
  // Nothing is there to read: the position is that of a peer, and may be any number.
  const here = isBehindEnd ? undefined : hashAt(reader, position);
  return differenceBetween(`the hash of the control record at ${position}`, here, hash) ?? 'same';
}

/** The chain hash and the number of events up to a revision. */
export function stateAt(
  reader: DatabaseReader,
  { rootId }: Applied,
  revision: number,
): Pick<TransactionHead, 'chainHash' | 'totalEvents'> {
  if (revision > 0) return reader.transactionHead(revision);
  return { chainHash: genesisHash(reader.source.sha256, rootId), totalEvents: 0 };
}

/** Undefined: both are the same. */
export function differenceBetween(
  what: string,
  here: Uint8Array | undefined,
  there: Uint8Array,
): HistoryDifference | undefined {
  if (here !== undefined && compareBytes(here, there) === 0) return undefined;
  return { what, here: here === undefined ? 'missing' : toHex(here), there: toHex(there) };
}

/** Undefined when there is no control record, and perhaps no record. */
function hashAt(reader: DatabaseReader, position: number): Uint8Array | undefined {
  try {
    return reader.controlAt(position).hash;
  } catch (error) {
    if (isFaultOfRow(error)) return undefined;
    throw error;
  }
}
