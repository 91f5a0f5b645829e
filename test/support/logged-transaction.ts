// Encodes the log record of a transaction according to the proto file, independently of the production encoder.
import { ByteWriter, beginMessage, writeBytesField, writeTextField, writeVarintField } from '#base';
import type { StoredEventId } from '#model';

export interface LoggedTransaction {
  readonly revision: number;
  readonly chainHash: Uint8Array;
  readonly storedIds: readonly StoredEventId[];
  readonly totalEventCount: number;
  readonly body: Uint8Array;
}

export function encodeLoggedTransaction(record: LoggedTransaction): Uint8Array {
  const writer = new ByteWriter();
  writeVarintField(writer, 1, record.revision);
  writeBytesField(writer, 2, record.chainHash);
  for (const { index, id } of record.storedIds) {
    const mark = beginMessage(writer, 3);
    if (index > 0) writeVarintField(writer, 1, index);
    writeTextField(writer, 2, id);
    writer.endLength(mark);
  }
  if (record.totalEventCount > 0) writeVarintField(writer, 4, record.totalEventCount);
  writeBytesField(writer, 15, record.body);
  return writer.take();
}
