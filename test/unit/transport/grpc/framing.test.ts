// Goal: many messages handed to grpc-js as one leave as the frames that they are (T2).
// Method: the steps by which grpc-js writes a message, over random messages.

import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  FRAME_HEADER_BYTES,
  frame,
  OutgoingFrames,
  writeFrameHeader,
} from '../../../../src/transport/grpc/wire/framing.ts';

/** What grpc-js does with what a serialiser returned. */
function written(serialised: Buffer): Buffer {
  const output = Buffer.alloc(serialised.byteLength + FRAME_HEADER_BYTES);
  output.writeUInt8(0, 0);
  output.writeUInt32BE(serialised.byteLength, 1);
  serialised.copy(output, FRAME_HEADER_BYTES);
  return output;
}

it('frames handed over as one message are written as they are (T2)', () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(messages, fc.nat(20), (parts, offset) => {
      const frames = Buffer.concat(parts.map((part) => frame(part)));
      const inside = Buffer.concat([Buffer.alloc(offset), frames]).subarray(offset);
      expect(written(new OutgoingFrames(inside).serialised())).toEqual(frames);
    }),
  );
});

it('frames are written as they are in pieces, too, wherever these are cut (T2)', () => {
  const lengths = { length: fc.integer({ min: 1, max: 20_000 }), bytesMax: fc.integer({ min: 1_000, max: 9_000 }) };
  fc.assert(
    fc.property(fc.record(lengths), ({ length, bytesMax }) => {
      const frames = frame(Uint8Array.from({ length }, (_, n) => n * 7));
      const pieces = OutgoingFrames.inPieces(frames, bytesMax).map((piece) => written(piece.serialised()));
      expect(Buffer.concat(pieces)).toEqual(frames);
      for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(bytesMax);
    }),
  );
});

it('frames in pieces are given back when the last of them is copied, and each copy when it has left', () => {
  const frames = Uint8Array.from(frame(new Uint8Array(20_000).fill(1)));
  const [first, second, third, ...more] = OutgoingFrames.inPieces(frames, 8_000);
  const copies = [first, second].map((piece) => written(piece?.serialised() ?? Buffer.alloc(0)));
  expect([more.length, frames.length]).toEqual([0, 20_005]);
  first?.left();
  expect(copies.map(({ length }) => length)).toEqual([0, 6_669]);
  expect(third?.serialised().copy(Buffer.alloc(7_000), FRAME_HEADER_BYTES)).toBe(6_667);
  expect(frames.length).toBe(0);
});

it('outgoing frames give back what they took, and their copy when it has left, but nothing of a pool', () => {
  const pooled = frame(Uint8Array.of(1, 2, 3));
  const large = frame(new Uint8Array(5000).fill(1));
  const frames = Uint8Array.from(large);
  const outgoing = new OutgoingFrames(frames);
  const copy = written(outgoing.serialised());
  expect([frames.length, copy.equals(large)]).toEqual([0, true]);
  outgoing.left();
  expect(copy.length).toBe(0);

  const kept = new OutgoingFrames(pooled);
  const room = Buffer.alloc(20);
  kept.serialised().copy(room.subarray(4), FRAME_HEADER_BYTES);
  kept.left();
  expect([...room.subarray(4, 12)]).toEqual([...pooled]);
});

it('a frame header holds lengths beyond 31 bits', () => {
  const header = new Uint8Array(FRAME_HEADER_BYTES);
  writeFrameHeader(header, 0, 2 ** 32 - 1);
  expect([...header]).toEqual([0, 255, 255, 255, 255]);
});
