// What is damaged on its way is never taken for what was said (TP10): every bit of what lanes say is turned.
import { describe, expect, it } from 'vitest';
import { type FrameHeader, toNodeId } from '#cluster';
import { toStoreId } from '../../../../src/cluster/peer/place.ts';
import {
  answerLength,
  helloLength,
  readAnswer,
  readHello,
  recordHead,
  recordLength,
  writeAnswer,
  writeHello,
} from '../../../../src/transport/peer/lane-words.ts';

const placeOf = (node: number): FrameHeader['from'] => ({
  node: toNodeId(node),
  store: toStoreId(`00000000-0000-4000-8000-0000000000${node}0`),
});
const HEADER: FrameHeader = {
  clusterId: '00000000-0000-4000-8000-000000000001',
  from: placeOf(1),
  to: placeOf(2),
};
const HELLO = writeHello({ header: HEADER, lane: 'bulk', address: { host: 'north', port: 50_052 } });
const ANSWERS = [
  ['accepts', writeAnswer({ kind: 'accepted', header: HEADER })],
  ['refuses', writeAnswer({ kind: 'refused', reason: 'it is for node 3' })],
] as const;

/** The bytes with one bit turned, for each of their bits. */
function damagedOf(bytes: Uint8Array): readonly Uint8Array[] {
  return Array.from({ length: 8 * bytes.length }, (_, bit) => {
    const damaged = bytes.slice();
    damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return damaged;
  });
}

describe('a greeting', () => {
  it('is read as it was written', () => {
    expect(helloLength(HELLO)).toBe(HELLO.length);
    expect(readHello(HELLO)).toMatchObject({
      kind: 'ok',
      value: { header: HEADER, lane: 'bulk', address: { host: 'north', port: 50_052 } },
    });
  });

  it('is not believed with any of its bits turned, or is waited for in vain (TP10)', () => {
    // What is as long as before is read; of what seems longer the rest never comes.
    const read = damagedOf(HELLO).filter((damaged) => (helloLength(damaged) ?? Infinity) <= damaged.length);
    expect(read.length).toBeGreaterThan(8 * HELLO.length - 32);
    expect(read.filter((damaged) => readHello(damaged.subarray(0, helloLength(damaged))).kind === 'ok')).toEqual([]);
  });
});

describe('an answer', () => {
  it('is read as it was written', () => {
    expect(ANSWERS.map(([, bytes]) => readAnswer(bytes))).toEqual([
      { kind: 'accepted', header: expect.objectContaining(HEADER) },
      { kind: 'refused', reason: 'it is for node 3' },
    ]);
  });

  it.each(ANSWERS)('that %s accepts nobody with any of its bits turned (TP10)', (_what, bytes) => {
    const read = damagedOf(bytes).filter((damaged) => (answerLength(damaged) ?? Infinity) <= damaged.length);
    expect(read.length).toBeGreaterThan(8 * bytes.length - 32);
    const heard = read.map((damaged) => readAnswer(damaged.subarray(0, answerLength(damaged))).kind);
    expect(new Set(heard)).toEqual(new Set(['refused']));
  });
});

describe('the head of a record', () => {
  it.each([0, 1, 76, 65_536, 4 * 2 ** 20, 2 ** 32 - 1])(
    'says its length, %i, or with a bit turned nothing',
    (length) => {
      expect(recordLength(recordHead(length))).toBe(length);
      expect(new Set(damagedOf(recordHead(length)).map(recordLength))).toEqual(new Set([undefined]));
    },
  );
});
