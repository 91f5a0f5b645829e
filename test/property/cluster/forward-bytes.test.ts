// Goal: forwarded requests and answers arrive unchanged; a truncated or corrupted frame is rejected as a whole, and no
// bytes make the decoder throw. Method: random items through two codecs; frames that are truncated, corrupted, or
// changed with a valid checksum.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { DatabaseError, ERROR_CODES, replicaOf, toGroupId, toLogIndex, toNodeId, toTerm } from '#base';
import { nativeCrc32 } from '#cluster';
import type { ForwardItem } from '../../../src/cluster/peer/forward.ts';
import { sealFrame } from '../../../src/cluster/peer/frame.ts';
import { codecOf, NORTH, SOUTH } from '../../support/cluster/peer-pair.ts';
import { runs } from '../../support/runs.ts';

const RUNS = runs(300);

const number = fc.oneof(fc.nat(300), fc.nat({ max: Number.MAX_SAFE_INTEGER - 1 }));
const text = fc.string({ unit: 'grapheme', maxLength: 60 });
const numbered = { session: fc.nat(2 ** 31 - 1), id: number };

const details = fc.record(
  {
    reason: text.filter((reason) => reason !== ''),
    retryAfterMs: fc.nat(60_000),
    leaderNode: fc.integer({ min: 1, max: 2 ** 31 }).map(toNodeId),
  },
  { requiredKeys: [] },
);
const error = fc
  .tuple(fc.constantFrom(...ERROR_CODES), text, details)
  .map(([code, message, known]) => new DatabaseError(code, message, { details: known }));

const term = number.map((value) => toTerm(Math.min(value, 2 ** 52)));
const about = {
  group: fc.nat(2 ** 31).map(toGroupId),
  replica: fc.tuple(fc.integer({ min: 1, max: 2 ** 31 }), fc.nat(2 ** 20 - 1)).map(([node, copy]) => {
    return replicaOf(toNodeId(node), copy);
  }),
  term,
};

const item: fc.Arbitrary<ForwardItem> = fc.oneof(
  fc.record({
    kind: fc.constant('propose' as const),
    ...numbered,
    group: fc.nat(2 ** 31).map(toGroupId),
    payload: fc.uint8Array({ maxLength: 300 }),
  }),
  fc.record({ kind: fc.constant('create' as const), ...numbered, copies: fc.nat(7), name: text }),
  fc.record({
    kind: fc.constant('accepted' as const),
    ...numbered,
    index: number.map(toLogIndex),
    term: number.map((value) => toTerm(Math.min(value, 2 ** 52))),
  }),
  fc.record({ kind: fc.constant('refused' as const), ...numbered, error }),
  fc.record({
    kind: fc.constantFrom('await-past' as const, 'await-shown' as const, 'shown' as const, 'past' as const),
    index: number.map(toLogIndex),
  }),
  fc.record({ kind: fc.constant('compare' as const), ...about, standing: fc.uint8Array({ maxLength: 90 }) }),
  fc.record({ kind: fc.constant('same' as const), ...about }),
  fc.record({ kind: fc.constant('differs' as const), ...about, reason: text }),
  fc.record({
    kind: fc.constant('acknowledged' as const),
    ...about,
    acknowledged: fc.record({ index: number.map(toLogIndex), term }),
  }),
  fc.constant({ kind: 'leaving' as const }),
  fc.constant({ kind: 'full' as const }),
);
const items = fc.array(item, { maxLength: 12 });

/** Vitest compares errors only by their message. */
function plain(each: ForwardItem): unknown {
  if (each.kind !== 'refused') return each;
  const { code, message, details: known } = each.error;
  return { ...each, error: { code, message, known } };
}

it('forwarded requests and answers arrive as they were sent, in order, on the lane of the appends', () => {
  fc.assert(
    fc.property(items, (sent) => {
      const frames = codecOf(NORTH).encodeForwards(SOUTH, sent);
      const receiver = codecOf(SOUTH);
      const arrived = frames.flatMap(({ lane, frame }) => {
        const result = receiver.decode(frame);
        if (result.kind === 'failure') throw new Error(result.reason.words);
        expect([lane, result.value.from, result.value.messages]).toEqual(['appends', NORTH, []]);
        return result.value.forwards;
      });
      expect(arrived.map(plain)).toEqual(sent.map(plain));
    }),
    { numRuns: RUNS },
  );
});

it('forwarded requests and answers take as many frames as their bytes need', () => {
  const payload = new Uint8Array(2 ** 14);
  const many = Array.from({ length: 40 }, (_, id): ForwardItem => {
    return { kind: 'propose', session: 1, id, group: toGroupId(1), payload };
  });
  const frames = codecOf(NORTH).encodeForwards(SOUTH, many);
  expect(frames.length).toBeGreaterThan(8);
  expect(Math.max(...frames.map(({ frame }) => frame.length))).toBeLessThan(2 ** 17);
});

it('a truncated or changed frame of forwarded requests and answers is rejected as a whole', () => {
  fc.assert(
    fc.property(items, fc.nat(), fc.nat(255), (sent, place, byte) => {
      for (const { frame } of codecOf(NORTH).encodeForwards(SOUTH, sent)) {
        expect(codecOf(SOUTH).decode(frame.subarray(0, place % frame.length)).kind).toBe('failure');
        const changed = Uint8Array.from(frame);
        const at = place % frame.length;
        changed[at] = byte;
        const isSame = byte === frame[at];
        expect(codecOf(SOUTH).decode(changed).kind).toBe(isSame ? 'ok' : 'failure');
        // With a valid checksum, the changed frame is decoded or refused, but decoding never throws.
        codecOf(SOUTH).decode(sealFrame(changed, nativeCrc32));
      }
    }),
    { numRuns: RUNS },
  );
});
