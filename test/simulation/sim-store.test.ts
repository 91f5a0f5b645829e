// Goal: two runs whose stores differ in one write are told from each other by their trace. Method: the hash of what a
// store shows of its writes.
import { expect, it } from 'vitest';
import { SimStore } from './disk/sim-store.ts';
import { Isolate } from './engine/isolate.ts';
import { Rng } from './engine/random.ts';
import { Simulator } from './engine/simulator.ts';
import { Trace } from './engine/trace.ts';

type Row = readonly [key: string, value: string | undefined];

/** Of one batch. */
async function hashOf(rows: readonly Row[], sync: boolean): Promise<string> {
  const simulator = new Simulator(1);
  const trace = new Trace();
  const store = new SimStore(new Rng(1, 'store'), (bytes) => trace.bytes(bytes));
  const open = store.openIn(new Isolate(simulator, 'core', new Rng(1, 'core'), () => undefined));
  const batch = open.batch();
  for (const [key, value] of rows) {
    if (value === undefined) batch.del(Buffer.from(key));
    else batch.put(Buffer.from(key), Buffer.from(value));
  }
  let isWritten = false;
  const write = async (): Promise<void> => {
    await open.write(batch, { sync });
    isWritten = true;
  };
  await Promise.all([write(), simulator.runUntil(() => isWritten, 1e6)]);
  return trace.hash;
}

it('tells apart what is written, and whether it is synced', async () => {
  const writes: readonly (readonly [readonly Row[], boolean])[] = [
    [[['a', 'x']], false],
    [[['a', 'x']], true],
    [[['a', 'y']], false],
    [[['b', 'x']], false],
    [[['a', '']], false],
    [[['a', undefined]], false],
    [
      [
        ['a', 'x'],
        ['b', 'x'],
      ],
      false,
    ],
    [
      [
        ['b', 'x'],
        ['a', 'x'],
      ],
      false,
    ],
  ];
  const hashes = await Promise.all(writes.map(([rows, sync]) => hashOf(rows, sync)));
  const again = await Promise.all(writes.map(([rows, sync]) => hashOf(rows, sync)));
  expect(new Set(hashes).size).toBe(writes.length);
  expect(again).toEqual(hashes);
});
