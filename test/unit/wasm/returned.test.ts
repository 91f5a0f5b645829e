// Goal: the host reads only values inside the memory of a guest, within a budget, or ends the call (G11, G12). Method:
// a guest that returns given bytes, random return areas compared with a naive reading, and repeated lists.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Value } from '#wasm';
import { guestText } from '../../support/wasm/guests.ts';
import { linkedWith } from '../../support/wasm/linked.ts';
import { wat } from '../../support/wasm/wat.ts';

const PAGE_BYTES = 65_536;
const AREA_BYTES = 12;
const nothing = () => () => undefined;

it('a result is a value in the memory of the guest, or ends the call', async () => {
  const text = guestText('(memory.copy (i32.const 16) (local.get $e) (local.get $en)) (i32.const 16)');
  const guest = linkedWith(await wat(text), nothing);
  const [{ memory }] = guest.cores as unknown as readonly [{ readonly memory: { readonly buffer: ArrayBuffer } }];
  const places = fc.oneof(
    fc.nat(PAGE_BYTES),
    fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    fc.constantFrom(PAGE_BYTES - 1, PAGE_BYTES, 2 ** 31),
  );
  fc.assert(
    fc.property(fc.nat(3), places, fc.oneof(fc.nat(40), places), (tag, at, length) => {
      const area = Buffer.alloc(AREA_BYTES);
      area.writeUInt8(tag, 0);
      area.writeUInt32LE(at, 4);
      area.writeUInt32LE(length, 8);
      const answer = outcomeOf(() => guest.call('evolve', [new Uint8Array(0), new Uint8Array(area)]));
      expect(answer).toEqual(read(Buffer.from(memory.buffer), tag, at, length));
    }),
    { numRuns: 2000 },
  );
});

it.each([
  ['bytes', '(list u8)', 2, 2 ** 15],
  ['text', 'string', 2, 2 ** 15],
  ['lists of nothing', '(list u32)', 500, 0],
])('a result counts %s each time when it has them repeatedly', async (_, type, count, length) => {
  const component = await wat(repeating(type, count, length));
  expect(() => linkedWith(component, nothing, 4000).call('all', [])).toThrow('more bytes than it may');
  expect(linkedWith(component, nothing, 200_000).call('all', [])).toHaveLength(count);
});

type Outcome = { readonly value: Value } | 'ended';

function outcomeOf(call: () => Value): Outcome {
  try {
    return { value: call() };
  } catch (error) {
    if (error instanceof Error && error.name === 'Faulted') return 'ended';
    throw error;
  }
}

/** Value of the return area by the component model. */
function read(memory: Buffer, tag: number, at: number, length: number): Outcome {
  if (tag > 1 || at + length > memory.length) return 'ended';
  const bytes = memory.subarray(at, at + length);
  if (tag === 0) return { value: { tag: 'ok', val: new Uint8Array(bytes) } };
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? { value: { tag: 'err', val: text } } : 'ended';
}

/** Returns the given number of lists, all at the same address. */
function repeating(type: string, count: number, length: number): string {
  return `(component
    (core module $m
      (memory (export "memory") 4)
      (func (export "all") (result i32) (local $i i32)
        (loop $l
          (i32.store (i32.add (i32.const 131072) (i32.mul (local.get $i) (i32.const 8))) (i32.const 65536))
          (i32.store offset=4 (i32.add (i32.const 131072) (i32.mul (local.get $i) (i32.const 8))) (i32.const ${length}))
          (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const ${count}))))
        (i32.store (i32.const 16) (i32.const 131072))
        (i32.store (i32.const 20) (i32.const ${count}))
        (i32.const 16)))
    (core instance $i (instantiate $m))
    (type $each ${type})
    (type $all (list $each))
    (func (export "all") (result $all) (canon lift (core func $i "all") (memory (core memory $i "memory")))))`;
}
