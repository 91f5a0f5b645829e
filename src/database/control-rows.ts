/**
 * The rows that find control records. Each has the position of a record and nothing else.
 *
 * ```
 * number of a definition, from 1 ──► its record
 * digest, part ────────────────────► the latest record with the part
 * transaction id ──────────────────► the record of its latest refusal
 * ```
 *   D23  A control record, its rows and the applied row that counts it are one batch.
 *   D25  Which refusals are kept follows from the log alone, and decides nothing. A transaction that was committed later
 *        keeps its refusal: the look-up finds the commit first.
 */
import { RECORD } from '#kv';
import { decodeDefinitionHead } from '#model';
import { unexpectedRecord } from './corruption.ts';
import type { RowKeys } from './keys.ts';
import type { DatabaseReader } from './reader.ts';
import type { ControlRecord } from './record.ts';
import { type KeptRefusal, readRefusal, refusedTransaction } from './refusal-record.ts';

/** The keys of the rows of a control record; `definitions` is the number of definitions up to it. */
export function keysOfControl(
  keys: RowKeys,
  { kind, payload }: Pick<ControlRecord, 'kind' | 'payload'>,
  definitions: number,
): readonly Uint8Array[] {
  if (kind === RECORD.REFUSAL) return [keys.refusal(refusedTransaction(payload)).slice()];
  const entry = decodeDefinitionHead(payload)?.entry;
  const key = keys.definition(definitions).slice();
  return entry?.kind === 'part' ? [key, keys.componentPart(entry.blob.digest, entry.part).slice()] : [key];
}

/**
 * The latest refusal of the id that was kept; undefined when there is none. The id may have been committed since, which
 * is to be looked for first.
 */
export async function refusalOf(reader: DatabaseReader, transactionId: Uint8Array): Promise<KeptRefusal | undefined> {
  const position = reader.positionIn(reader.keys.refusal(transactionId));
  if (position === undefined) return undefined;
  // The row may be newer than what the reader has seen.
  reader.applied();
  const [record] = await reader.controlsAt([position]);
  const refusal = record && readRefusal(record);
  if (refusal === undefined) throw unexpectedRecord(reader.source.group, position, 'it is no refusal');
  return refusal;
}
