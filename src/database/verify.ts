/**
 * Checks that the history above a durable point is whole. A node does this after a crash, before it trusts rows and
 * records that were never synced (docs/formats/history.md).
 *
 * LevelDB keeps or loses a batch as a whole, but after a power loss it may have lost one and kept a later one; and the
 * end of a history may be lost. Every batch that changed a database has a row with the position of each of its records.
 * So these rows, and hashes of records that lead to those in the applied row, prove that nothing is missing (D11).
 */
import { compareBytes, NO_BYTES } from '#base';
import { type HistoryEnd, RECORD } from '#kv';
import type { Applied } from './applied.ts';
import type { AppliedState } from './applied-state.ts';
import { HistoryChain } from './chain.ts';
import { stateAt } from './compare-history.ts';
import { isFaultOfRow, unexpectedRow } from './corruption.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import { isControl, type StoredRecord } from './record.ts';
import { refusedTransaction } from './refusal-record.ts';
import { walkHistory } from './walks.ts';

/** Everything up to here is durable, as the checkpoint record of the log says. */
export interface DurablePoint extends Omit<AppliedState, 'chainHash'> {
  readonly history: HistoryEnd;
}

/** Checks what is above the durable point, up to the applied row. As text: what cannot be vouched for. */
export async function verifyHistory(source: DatabaseSource, durable: DurablePoint): Promise<string | undefined> {
  const start = { ...durable, chainHash: NO_BYTES, totalEvents: 0, control: undefined };
  const chain = new HistoryChain(source.sha256, start, false);
  try {
    const fault = await faultAbove(source, durable, chain);
    return fault && `After revision ${chain.revision} and entry ${chain.index}: ${fault}`;
  } catch (error) {
    if (!isFaultOfRow(error)) throw error;
    return error.message;
  }
}

async function faultAbove(
  source: DatabaseSource,
  durable: DurablePoint,
  chain: HistoryChain,
): Promise<string | undefined> {
  const reader = new DatabaseReader(source, { lends: true });
  const applied = reader.applied();
  if (applied === undefined) throw unexpectedRow(reader.keys.applied(), 'the applied row is missing');
  const { chainHash, totalEvents } = stateAt(new DatabaseReader(source), applied, durable.revision);
  Object.assign(chain, { chainHash, totalEvents });
  const from = durable.history.end;
  const definitions: number[] = [];
  let position = from;
  for await (const records of walkHistory(reader, { from, to: applied.end })) {
    for (const record of records) {
      const fault = chain.take(record) ?? faultInRow(reader, record, position);
      if (fault !== undefined) return fault;
      if (isControl(record) && record.kind === RECORD.DEFINITION) definitions.push(position);
      position = record.end;
    }
  }
  const before = applied.definitions - definitions.length;
  const isFound = definitions.every((at, n) => reader.positionIn(reader.keys.definition(before + n + 1)) === at);
  return isFound ? faultInEnd(chain, applied, from) : 'the row of a definition is missing';
}

/** A definition's row is looked for when it is known how many there are. */
function faultInRow(reader: DatabaseReader, record: StoredRecord, position: number): string | undefined {
  if (!isControl(record)) {
    const row = reader.positionIn(reader.keys.position(record.revision));
    return row === position
      ? undefined
      : `the position of revision ${record.revision} is ${position}, its row has ${row}`;
  }
  if (record.kind === RECORD.DEFINITION) return undefined;
  // A later refusal of the same transaction has replaced the row.
  const row = reader.positionIn(reader.keys.refusal(refusedTransaction(record.payload))) ?? -1;
  return row >= position ? undefined : 'the row of a refusal is missing';
}

function faultInEnd(
  { revision, chainHash, control }: HistoryChain,
  applied: Applied,
  from: number,
): string | undefined {
  if (revision !== applied.revision) return 'its record is missing';
  if (compareBytes(chainHash, applied.chainHash) !== 0) return 'its chain hash is not that of the applied row';
  const { position = -1, hash = NO_BYTES } = applied.control ?? {};
  const isSame = control === undefined ? position < from : compareBytes(control.hash, hash) === 0;
  return isSame ? undefined : 'the last control record is not that of the applied row';
}
