// Goal: damaged messages of lanes are never accepted (TP10). Method: every bit of each message is flipped.
import { expect, it } from 'vitest';
import { toNodeId } from '#base';
import { type FrameHeader } from '#cluster';
import { toStoreId } from '../../../../src/cluster/peer/peer-identity.ts';
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
const RUN = 2 ** 53 - 1;
const HELLO = writeHello({ header: HEADER, lane: 'bulk', run: RUN, address: { host: 'north', port: 50_052 } });
const ANSWERS = [
  [
    'accepts',
    writeAnswer({ kind: 'accepted', header: HEADER, run: RUN }),
    { kind: 'accepted', header: expect.objectContaining(HEADER), run: RUN },
  ],
  ['refuses', writeAnswer({ kind: 'refused', reason: 'no' }), { kind: 'refused', reason: 'no' }],
  ['reports a duplicate', writeAnswer({ kind: 'duplicate', reason: 'no' }), { kind: 'duplicate', reason: 'no' }],
] as const;

/** The bytes with one flipped bit, for each bit. */
function damagedOf(bytes: Uint8Array): readonly Uint8Array[] {
  return Array.from({ length: 8 * bytes.length }, (_, bit) => {
    const damaged = bytes.slice();
    damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return damaged;
  });
}

/** Damaged messages of at most the original length. The rest of a longer one would never arrive. */
function readable(bytes: Uint8Array, lengthOf: (bytes: Uint8Array) => number | undefined): readonly Uint8Array[] {
  const read = damagedOf(bytes).filter((damaged) => (lengthOf(damaged) ?? Number.POSITIVE_INFINITY) <= damaged.length);
  expect(read.length).toBeGreaterThan(8 * bytes.length - 32);
  return read.map((damaged) => damaged.subarray(0, lengthOf(damaged)));
}

it('a greeting is decoded as it was encoded, and rejected with any flipped bit (TP10)', () => {
  const value = { header: HEADER, lane: 'bulk', run: RUN, address: { host: 'north', port: 50_052 } };
  expect(readHello(HELLO)).toMatchObject({ kind: 'ok', value });
  expect(readable(HELLO, helloLength).filter((damaged) => readHello(damaged).kind === 'ok')).toEqual([]);
});

it.each(ANSWERS)('an answer that %s is no acceptance with any flipped bit (TP10)', (_what, bytes, answer) => {
  expect(readAnswer(bytes)).toEqual(answer);
  const read = readable(bytes, answerLength).map((damaged) => readAnswer(damaged).kind);
  expect(new Set(read)).toEqual(new Set(['refused']));
});

it.each([0, 1, 76, 65_536, 4 * 2 ** 20, 2 ** 32 - 1])(
  'the head of a record has its length, %i, and none with any flipped bit',
  (length) => {
    expect(recordLength(recordHead(length))).toBe(length);
    expect(new Set(damagedOf(recordHead(length)).map(recordLength))).toEqual(new Set([undefined]));
  },
);
