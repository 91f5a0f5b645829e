// Goal: components of real tools are read completely and bound by their exports and imports (G2, G5, G6). Method:
// worlds in WIT, ours and those of the SDK, made into components by wasm-tools.
import { describe, expect, it } from 'vitest';
import { type ComponentKind, DEFAULT_LIMITS, type Inspected, inspect } from '#wasm';
import { componentOf, viewText, wat } from '../../../support/wasm/wat.ts';
import { OWN_WIT, SDK_WIT } from '../../../support/wasm/wit.ts';

const EVOLVE = '(list<u8>, list<u8>) -> result<list<u8>, string>';
const OWN_DECIDE = '(record) -> result<list<record>, variant>';

describe('inspect', () => {
  it.each<readonly [string, string, ComponentKind, object]>([
    ['state-view', OWN_WIT, 'state-view', { shape: 'own', main: { name: 'evolve', shape: EVOLVE }, batch: undefined }],
    ['state-view-batch', OWN_WIT, 'state-view', { batch: { name: 'evolve-many' }, query: { name: 'query' } }],
    ['state-view-interface', OWN_WIT, 'state-view', { main: { interface: 'cairn:component/evolving@0.1.0' } }],
    ['state-change', OWN_WIT, 'state-change', { shape: 'own', main: { name: 'decide', shape: OWN_DECIDE } }],
    ['presenter', OWN_WIT, 'presenter', { shape: 'own', main: { name: 'present' } }],
    ['state-view', SDK_WIT, 'state-view', { shape: 'sdk', main: { name: 'evolve' }, query: undefined }],
    ['state-change', SDK_WIT, 'state-change', { shape: 'sdk', main: { name: 'decide' } }],
  ])('binds the world %s', async (world, wit, kind, binding) => {
    expect(accepted(await componentOf(wit, world), kind).binding).toMatchObject(binding);
  });

  it('binds a function of another name by request', async () => {
    const bytes = await wat(viewText().replace('"evolve" (func $evolve)', '"reduce" (func $evolve)'));
    const options = { kind: 'state-view', limits: DEFAULT_LIMITS, functionName: 'reduce' } as const;
    expect(inspect(bytes, options)).toMatchObject({ value: { binding: { main: { name: 'reduce' } } } });
  });

  it('refuses a component with two functions to bind', async () => {
    const refused = inspect(await componentOf(OWN_WIT, 'two-evolves'), { kind: 'state-view', limits: DEFAULT_LIMITS });
    expect(refused).toMatchObject({
      reason: { code: 'MissingExport', message: expect.stringContaining('exports one') },
    });
  });

  it('divides the memory and table limits of a component among its memories and tables (G4)', async () => {
    const two = viewText({ before: '(core module $o (memory 24)) (core instance (instantiate $o))', memory: '1' });
    const limits = { ...DEFAULT_LIMITS, memoryBytesMax: 65_536 * 100, tableElementsMax: 30 };
    const inspected = inspect(await wat(two), { kind: 'state-view', limits });
    expect(inspected).toMatchObject({ value: { growth: { memoryPages: 37, tableElements: 30 } } });
  });
});

function accepted(bytes: Uint8Array, kind: ComponentKind): Inspected {
  const inspected = inspect(bytes, { kind, limits: DEFAULT_LIMITS });
  if (inspected.kind === 'failure') throw new Error(inspected.reason.message);
  return inspected.value;
}
