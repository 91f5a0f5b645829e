/** Reading the fields of a message in a row, for requests that the generated code would not give as they were sent. */
import type { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** `take` answers whether the field is one that it knows. */
export function readFields(
  reader: BinaryReader,
  end: number,
  take: (field: number, wireType: WireType) => boolean,
): void {
  while (reader.pos < end) {
    const [field, wireType] = reader.tag();
    if (!take(field, wireType)) reader.skip(wireType, field);
  }
}

/** A uint64 as a number where that is exact. */
export function exact(value: bigint | string): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
}
