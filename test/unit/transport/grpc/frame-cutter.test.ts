// Goal: the cutter returns whole frames for pieces of any size (T2). Method: random messages and pieces.
import { array, assert, integer, oneof, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameCutter, frame } from '../../../../src/transport/grpc/wire/framing.ts';

interface Taken {
  readonly bytes: Buffer;
  readonly count: number;
}

function taken(pieces: readonly Buffer[]): Taken {
  const cutter = new FrameCutter();
  const parts: Buffer[] = [];
  let count = 0;
  for (const piece of pieces) {
    const cut = cutter.add(piece);
    if (cut === undefined) continue;
    expect(framesIn(cut.frames)).toBe(cut.count);
    parts.push(cut.frames);
    count += cut.count;
  }
  return { bytes: Buffer.concat(parts), count };
}

function framesIn(bytes: Buffer): number {
  let at = 0;
  let count = 0;
  for (; at < bytes.length; count++) at += 5 + bytes.readUInt32BE(at + 1);
  expect(at).toBe(bytes.length);
  return count;
}

describe('frames of a reply', () => {
  const messages = [Buffer.from('one'), Buffer.alloc(0), Buffer.from('three')];
  const whole = Buffer.concat(messages.map((message) => frame(message)));

  it('are held until they are complete', () => {
    const cutter = new FrameCutter();
    expect(cutter.add(whole.subarray(0, 7))).toBeUndefined();
    expect(cutter.neededBytes).toBe(8);
    expect(cutter.add(whole.subarray(7, 10))?.frames.toString('latin1')).toBe(whole.subarray(0, 8).toString('latin1'));
    expect(cutter.neededBytes).toBe(5);
  });

  it('are whole for any pieces', () => {
    const lengths = array(integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 40 });
    const sizes = array(oneof(integer({ min: 0, max: 7 }), integer({ min: 0, max: 500 })), { maxLength: 60 });
    assert(
      property(lengths, sizes, (messageLengths, pieceSizes) => {
        const bytes = Buffer.concat(messageLengths.map((length, n) => frame(Buffer.alloc(length, n))));
        const pieces: Buffer[] = [];
        let at = 0;
        for (const size of pieceSizes) {
          pieces.push(bytes.subarray(at, at + size));
          at += size;
        }
        pieces.push(bytes.subarray(at));
        expect(taken(pieces)).toEqual({ bytes, count: messageLengths.length });
      }),
    );
  });
});
