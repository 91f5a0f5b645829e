// Goal: the inspection accepts or refuses any bytes, and a rewritten module stays valid (G2, G7, G8). Method: accepted
// components and core modules with bytes changed, removed, inserted and copied.
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { cap, DEFAULT_LIMITS, inspect, meter, REFUSAL_CODES } from '#wasm';
import { rewriteModules } from '../../../src/wasm/limiting/strip.ts';
import { runs } from '../../support/runs.ts';
import { isValid } from '../../support/wasm/engine.ts';
import { PROGRAMS } from '../../support/wasm/programs.ts';
import { componentOf, viewText, wat } from '../../support/wasm/wat.ts';
import { OWN_WIT, SDK_WIT } from '../../support/wasm/wit.ts';

const GROWTH = { memoryPages: 10, tableElements: 10 };
const OPTIONS = { kind: 'state-view', limits: DEFAULT_LIMITS } as const;

type Change =
  | { readonly kind: 'byte'; readonly at: number; readonly value: number }
  | { readonly kind: 'cut'; readonly at: number; readonly count: number }
  | { readonly kind: 'put'; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'copy'; readonly at: number; readonly from: number; readonly count: number };

// Positions are in millionths of the length.
const place = fc.nat(1_000_000);
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('byte' as const), at: place, value: fc.nat(255) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('cut' as const), at: place, count: fc.integer({ min: 1, max: 9 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('put' as const), at: place, bytes: fc.uint8Array({ maxLength: 6 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('copy' as const),
      at: place,
      from: place,
      count: fc.integer({ min: 1, max: 60 }),
    }),
  },
);
const changes = fc.array(change, { minLength: 1, maxLength: 4 });

describe('bytes that were changed', () => {
  let components: readonly Uint8Array[] = [];
  let modules: readonly Uint8Array[] = [];

  beforeAll(async () => {
    const worlds = ['state-view-batch', 'state-view-interface'].map((world) => componentOf(OWN_WIT, world));
    components = await Promise.all([wat(viewText()), componentOf(SDK_WIT, 'state-view'), ...worlds]);
    modules = await Promise.all(PROGRAMS.map(({ fields }) => wat(`(module ${fields})`)));
  });

  it('are inspected completely, or refused (G2)', () => {
    fc.assert(
      fc.property(fc.nat(3), changes, (which, made) => {
        const bytes = changed(components[which] ?? new Uint8Array(0), made);
        const answered = inspect(bytes, OPTIONS);
        expect(isSound(bytes, answered)).toBe(true);
      }),
      { numRuns: runs(3000) },
    );
  });

  it('are rewritten to valid modules if they are valid, or refused (G7, G8)', () => {
    fc.assert(
      fc.property(fc.nat(PROGRAMS.length - 1), changes, (which, made) => {
        const bytes = changed(modules[which] ?? new Uint8Array(0), made);
        const rewritten = rewrite(bytes);
        expect(rewritten === undefined || isValid(rewritten)).toBe(true);
      }),
      { numRuns: runs(3000) },
    );
  });
});

function isSound(bytes: Uint8Array, answered: ReturnType<typeof inspect>): boolean {
  if (answered.kind === 'ok')
    return (
      inspect(
        rewriteModules(bytes, (module) => module),
        OPTIONS,
      ).kind === 'ok'
    );
  const { code, offset, message } = answered.reason;
  return REFUSAL_CODES.includes(code) && offset >= 0 && offset <= bytes.length && message !== '';
}

function rewrite(bytes: Uint8Array): Uint8Array | undefined {
  const capped = cap(bytes, GROWTH);
  const metered = capped.kind === 'ok' ? meter(capped.value) : capped;
  return isValid(bytes) && metered.kind === 'ok' ? metered.value : undefined;
}

function changed(bytes: Uint8Array, made: readonly Change[]): Uint8Array {
  let result = Buffer.from(bytes);
  for (const one of made) {
    const at = Math.floor((one.at / 1_000_001) * result.length);
    const [before, behind] = [result.subarray(0, at), result.subarray(at)];
    if (one.kind === 'byte') result = Buffer.concat([before, Buffer.of(one.value), behind.subarray(1)]);
    else if (one.kind === 'cut') result = Buffer.concat([before, behind.subarray(one.count)]);
    else if (one.kind === 'put') result = Buffer.concat([before, one.bytes, behind]);
    else {
      const from = Math.floor((one.from / 1_000_001) * result.length);
      result = Buffer.concat([before, result.subarray(from, from + one.count), behind]);
    }
  }
  return new Uint8Array(result);
}
