// Goal: a reader gets every byte once and in order, when the body is generated in any number of runs, and a run with
// different bytes is detected (F31). Method: random writes, restarts and reads; each byte depends on its position.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { PresentedBody, type PresentedPart } from '../../../src/components/presented-body.ts';

const BODY_BYTES = 200_000;
const BODY = Uint8Array.from({ length: BODY_BYTES }, (_, at) => (at * 7 + (at >> 8)) % 256);

type Step = { readonly kind: 'write'; readonly bytes: number } | { readonly kind: 'again' } | { readonly kind: 'read' };

const bytes = fc.integer({ min: 0, max: 40_000 });
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('write' as const), bytes }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('again' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('read' as const) }) },
);

it('a presented body is read once and in order, when it is generated repeatedly', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 60 }), async (steps) => {
      const body = new PresentedBody();
      const read: Promise<PresentedPart>[] = [];
      const said: boolean[] = [];
      const isWaiting = { now: false };
      let at = 0;
      const readOn = (): void => {
        if (isWaiting.now) return;
        isWaiting.now = true;
        read.push(body.next().then((part) => ((isWaiting.now = false), part)));
      };
      for (const step of steps) {
        if (step.kind === 'read') readOn();
        else if (step.kind === 'again') {
          body.beginAgain();
          at = 0;
        } else {
          const to = Math.min(BODY_BYTES, at + step.bytes);
          said.push(body.write(BODY.subarray(at, to)));
          at = to;
        }
        await Promise.resolve();
      }
      body.write(BODY.subarray(at));
      body.end({ kind: 'end' });
      const parts = await Promise.all(read);
      while (parts.at(-1)?.kind !== 'end') parts.push(await body.next());
      const whole = Buffer.concat(parts.flatMap((part) => (part.kind === 'bytes' ? [part.bytes] : [])));
      expect([said.includes(false), whole.equals(BODY), body.heldBytes]).toEqual([false, true, 0]);
    }),
  );
});

it.each([
  ['at once', [100]],
  ['byte by byte', Array.from({ length: 100 }, () => 1)],
  ['with more behind it', [99, 20]],
])('a presented body with different bytes is detected within the part that was generated before, %s', (_, sizes) => {
  const body = new PresentedBody();
  expect(body.write(BODY.subarray(0, 100))).toBe(true);
  body.beginAgain();
  expect(body.isCaughtUp).toBe(false);
  const other = BODY.slice(0, 200);
  other[50] = 255 - (other[50] ?? 0);
  let at = 0;
  const said = sizes.map((size) => body.write(other.subarray(at, (at += size))));
  expect([said.includes(false), body.madeCount]).toEqual([true, 100]);
});

it('a presented body that fails is not read any further, even when it was complete', async () => {
  const error = new DatabaseError('unavailable', 'late');
  const body = new PresentedBody();
  body.write(BODY);
  body.end({ kind: 'end' });
  body.end({ kind: 'failed', error });
  expect([await body.next(), body.heldBytes]).toEqual([{ kind: 'failed', error }, 0]);
});
