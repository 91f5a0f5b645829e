// Goal: a malicious component is rejected by its binary alone, with a code, a message and an offset (G2, G4, G5, G6).
// Method: components as text, one for each attack, and the inspector.
import { expect, it } from 'vitest';
import { DEFAULT_LIMITS, inspect, REFUSAL_CODES, type Refusal, type RefusalCode } from '#wasm';
import { HOSTILE } from '../../support/wasm/hostile.ts';
import { viewText, wat } from '../../support/wasm/wat.ts';

const OPTIONS = { kind: 'state-view', limits: DEFAULT_LIMITS } as const;

it.each(HOSTILE)('inspect rejects $what', async ({ code, says, bytes }) => {
  const component = await bytes();
  const { reason } = refused(component);
  expect(reason.message).toMatch(says);
  expect(reason.code).toBe(code);
  expect(reason.offset).toBeGreaterThanOrEqual(0);
  expect(reason.offset).toBeLessThanOrEqual(component.length);
});

it('inspect rejects a component beyond the maximum size', async () => {
  const component = await wat(viewText());
  const limits = { ...DEFAULT_LIMITS, componentBytesMax: component.length - 1 };
  expect(inspect(component, { ...OPTIONS, limits })).toMatchObject({ reason: { code: 'TooLarge' } });
});

it('every code has an example here, in the tests of names or in those of publishing', () => {
  const elsewhere: readonly RefusalCode[] = ['UnsafeName', 'SmokeCallFailed', 'NotPublished'];
  expect(new Set([...HOSTILE.map(({ code }) => code), ...elsewhere])).toEqual(new Set(REFUSAL_CODES));
});

function refused(component: Uint8Array): { readonly reason: Refusal } {
  const inspected = inspect(component, OPTIONS);
  if (inspected.kind === 'ok') throw new Error('The component was accepted');
  return inspected;
}
