/** Encodes the limits of a call, and the clock options of the guest, for another process. */
import type { ByteReader, ByteWriter } from '#base';
import { readValue, writeValue } from '../abi/value-codec.ts';
import type { Limited } from './calls.ts';

export function writeLimited(writer: ByteWriter, { limits, wasi }: Limited): void {
  writer.varint(limits.fuel);
  writer.varint(limits.outputBytesMax);
  writer.varint(limits.hostCallsMax);
  writeValue(writer, wasi.timeNs);
  writeValue(writer, wasi.seed);
}

export function readLimited(reader: ByteReader): Limited {
  const [fuel, outputBytesMax, hostCallsMax] = [reader.varint(), reader.varint(), reader.varint()];
  const [timeNs, seed] = [readBigint(reader), readBigint(reader)];
  return { limits: { fuel, outputBytesMax, hostCallsMax }, wasi: { timeNs, seed } };
}

function readBigint(reader: ByteReader): bigint {
  const value = readValue(reader);
  return typeof value === 'bigint' ? value : 0n;
}
