// Goal: code of a real compiler computes the same when it is capped and metered, and takes the same fuel in two runs
// (G7, G8, G9). Method: wasm-tools, as it comes and rewritten, over the texts of the other tests.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cap, DEFAULT_LIMITS, meter } from '#wasm';
import { tempDir } from '../../support/temp-dir.ts';
import { isValid } from '../../support/wasm/engine.ts';
import { largeModules, loadTools, type OwnTools } from '../../support/wasm/own-tools.ts';
import { PROGRAMS } from '../../support/wasm/programs.ts';
import { valueOf } from '../../support/wasm/rewritten.ts';
import { viewText, wat } from '../../support/wasm/wat.ts';

const TEXTS = [viewText(), ...PROGRAMS.map(({ fields }) => `(module ${fields})`)];
const MUCH = 10n ** 12n;
const GROWTH = { memoryPages: 1024, tableElements: 100_000 };

it('wasm-tools gives the same results when it is metered, for the same fuel each time', async () => {
  using dir = tempDir();
  const first = await loadTools(join(dir.path, 'first'), rewritten);
  const second = await loadTools(join(dir.path, 'second'), rewritten);
  for (const text of TEXTS) {
    const plain = await wat(text);
    const [once, again] = [run(first, text), run(second, text)];
    expect(once.bytes).toEqual(plain);
    expect(again).toEqual(once);
    expect(once.fuel).toBeGreaterThan(1000n);
  }
});

it.each([...largeModules().keys()])('%s is valid when it is capped and metered', (name) => {
  expect(isValid(rewritten(largeModules().get(name) ?? new Uint8Array(0)))).toBe(true);
});

function rewritten(module: Uint8Array): Uint8Array {
  return valueOf(meter(valueOf(cap(module, GROWTH)), DEFAULT_LIMITS));
}

function run(tools: OwnTools, text: string): { readonly bytes: Uint8Array; readonly fuel: bigint } {
  const { fuel } = tools;
  if (fuel === undefined) throw new Error('The tools are not metered');
  fuel.value = MUCH;
  const bytes = tools.parse(text);
  return { bytes, fuel: MUCH - fuel.value };
}
