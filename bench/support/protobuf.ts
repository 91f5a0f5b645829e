/** Just enough protobuf to write the requests of a benchmark by hand, once, before it starts. */

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
