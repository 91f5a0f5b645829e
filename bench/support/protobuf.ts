/** A minimal protobuf encoder and decoder for the requests and replies of benchmarks. */

export type Field = Buffer;

export function message(...fields: readonly Field[]): Buffer {
  return Buffer.concat(fields);
}

export function bytesField(number: number, value: string | Uint8Array): Field {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

export function varintField(number: number, value: number): Field {
  return Buffer.concat([varint(number * 8), varint(value)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** The fields of a message by number. Of repeated fields it has the last one, and of fixed-width fields the bytes. */
export function fieldsOf(bytes: Buffer): ReadonlyMap<number, number | Buffer> {
  const fields = new Map<number, number | Buffer>();
  let at = 0;
  const next = (): number => {
    let [value, scale] = [0, 1];
    for (let byte = 128; byte >= 128; scale *= 128) {
      byte = bytes.readUInt8(at++);
      value += (byte % 128) * scale;
    }
    return value;
  };
  while (at < bytes.length) {
    const key = next();
    const [number, wire] = [Math.floor(key / 8), key % 8];
    if (wire === 0) {
      fields.set(number, next());
      continue;
    }
    const length = wire === 2 ? next() : wire === 1 ? 8 : 4;
    fields.set(number, bytes.subarray(at, at + length));
    at += length;
  }
  return fields;
}
