// Goal: messages come out of a stream of bytes whole and in order, however the bytes are cut (T2).
// Method: properties over random messages and cuts, and the faults one by one.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Deframer, FRAME_HEADER_BYTES, frame } from '../../../../src/transport/grpc/wire/framing.ts';

const BYTES_MAX = 200;

function cut(bytes: Uint8Array, at: readonly number[]): readonly Uint8Array[] {
  const places = [...new Set(at.map((place) => place % (bytes.length + 1)))].toSorted((left, right) => left - right);
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
}

describe('Deframer (T2)', () => {
  it('gives back what was framed, for every way to cut the bytes', () => {
    const message = fc.record({ bytes: fc.uint8Array({ maxLength: BYTES_MAX }), compressed: fc.boolean() });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 40 }), (messages, cuts) => {
        const deframer = new Deframer(BYTES_MAX);
        const stream = Buffer.concat(messages.map(({ bytes, compressed }) => frame(bytes, compressed)));
        const taken = cut(stream, cuts).flatMap((piece) => {
          deframer.push(piece);
          return deframer.take();
        });
        deframer.end();
        expect(deframer.fault).toBeUndefined();
        expect(taken.map(({ bytes, compressed }) => ({ bytes: [...bytes], compressed }))).toEqual(
          messages.map(({ bytes, compressed }) => ({ bytes: [...bytes], compressed })),
        );
      }),
    );
  });

  it('says how much is missing when the stream ends inside a frame', () => {
    const framed = frame(new Uint8Array(20));
    for (let length = 1; length < framed.length; length++) {
      const deframer = new Deframer(BYTES_MAX);
      deframer.push(framed.subarray(0, length));
      deframer.end();
      const expected = length < FRAME_HEADER_BYTES ? FRAME_HEADER_BYTES : framed.length;
      expect(deframer.fault).toEqual({ kind: 'truncated', found: length, expected });
    }
  });

  it('refuses a message that is too long as soon as its header is there', () => {
    const deframer = new Deframer(BYTES_MAX);
    deframer.push(frame(new Uint8Array(BYTES_MAX + 1)).subarray(0, FRAME_HEADER_BYTES));
    expect(deframer.fault).toEqual({ kind: 'too-long', length: BYTES_MAX + 1 });
  });

  it('refuses a flag that is neither 0 nor 1, and takes nothing more', () => {
    const deframer = new Deframer(BYTES_MAX);
    const framed = frame(new Uint8Array(3));
    framed[0] = 2;
    deframer.push(framed);
    deframer.push(frame(new Uint8Array(3)));
    expect(deframer.fault).toEqual({ kind: 'bad-flag', flag: 2 });
    expect(deframer.take()).toEqual([]);
  });

  it('reads lengths beyond 31 bits as positive', () => {
    const deframer = new Deframer(BYTES_MAX);
    deframer.push(Uint8Array.of(0, 0xff, 0xff, 0xff, 0xff));
    expect(deframer.fault).toEqual({ kind: 'too-long', length: 2 ** 32 - 1 });
  });
});
