// Goal: a component is linked as its binary describes, and reaches only the parts of the host that it imports (G13).
// Method: components as text, some with the output of real tools for interfaces and resources, some that no tool would
// generate.
import { describe, expect, it } from 'vitest';
import { linkedWith } from '../../../support/wasm/linked.ts';
import { componentOf, viewText, wat } from '../../../support/wasm/wat.ts';
import { OWN_WIT, SDK_WIT } from '../../../support/wasm/wit.ts';

const nothing = () => () => undefined;

describe('link', () => {
  it.each([
    ['state-view', OWN_WIT],
    ['state-view-batch', OWN_WIT],
    ['state-view-interface', OWN_WIT],
    ['state-change', OWN_WIT],
    ['presenter', OWN_WIT],
    ['state-view', SDK_WIT],
    ['state-change', SDK_WIT],
  ])('links the world %s as built by tools', async (world, wit) => {
    expect(linkedWith(await componentOf(wit, world), nothing).cores.length).toBeGreaterThan(0);
  });

  it('does not expose the prototype of import objects to a core module', async () => {
    const asked = (name: string): string => `(component
      (core module $none)
      (core instance $none (instantiate $none))
      (core module $m (import "${name}" "constructor" (func)))
      (core instance (instantiate $m (with "given" (instance $none)))))`;
    const texts = [asked('constructor'), asked('given'), asked('toString')];
    for (const text of texts) {
      const component = await wat(text);
      expect(() => linkedWith(component, nothing)).toThrow(/Import #0|not an Object or Function/);
    }
  });

  it('does not find properties of every object among the exports of a core instance', async () => {
    const component = await wat(`(component
      (core module $m) (core instance $i (instantiate $m))
      (alias core export $i "hasOwnProperty" (core func $f)))`);
    expect(() => linkedWith(component, nothing)).toThrow('core export "hasOwnProperty" is missing');
  });

  it('destroys a resource of the guest when its owner drops it, and not when a borrow ends', async () => {
    const guest = linkedWith(await wat(RESOURCES), nothing);
    expect(guest.call('run', [])).toBe(7);
  });

  it('refuses a handle that the guest does not have', async () => {
    const guest = linkedWith(await wat(RESOURCES), nothing);
    expect(() => guest.call('forge', [])).toThrow('The guest does not have the handle 99');
  });

  it('lets a guest call no import while it allocates', async () => {
    const text = viewText({
      before: `(import "cairn:component/state-reader@0.1.0" (instance $r (export "f" (func))))
        (core func $f (canon lower (func $r "f")))`,
      core: '(import "h" "f" (func $f))',
    })
      .replace(
        '(core instance $i (instantiate $m))',
        '(core instance $i (instantiate $m (with "h" (instance (export "f" (func $f))))))',
      )
      .replace('(global.get $top) (global.set', '(call $f) (global.get $top) (global.set');
    const guest = linkedWith(await wat(moved(text)), nothing);
    expect(() => guest.call('evolve', [new Uint8Array(1), new Uint8Array(1)])).toThrow(
      'calls an import while it allocates',
    );
  });

  it('returns to the host the result that an inner component returns to the outer one', async () => {
    const guest = linkedWith(await wat(NESTED), nothing);
    expect(guest.call('shout', ['hé'])).toBe('hé!');
  });
});

/** Moves the import of a core module before its other parts. */
function moved(text: string): string {
  const wanted = '(import "h" "f" (func $f))';
  return text.replace(wanted, '').replace('(core module $m', `(core module $m ${wanted}`);
}

/** Creates two resources and drops one. The destructor adds the value of its resource to a sum. */
const RESOURCES = `(component
  (core module $memory
    (global $sum (mut i32) (i32.const 0))
    (func (export "destroy") (param i32) (global.set $sum (i32.add (global.get $sum) (local.get 0))))
    (func (export "sum") (result i32) (global.get $sum)))
  (core instance $d (instantiate $memory))
  (alias core export $d "destroy" (core func $destroy))
  (type $r (resource (rep i32) (dtor (core func $destroy))))
  (core func $new (canon resource.new $r))
  (core func $drop (canon resource.drop $r))
  (core func $rep (canon resource.rep $r))
  (core module $m
    (import "h" "new" (func $new (param i32) (result i32)))
    (import "h" "drop" (func $drop (param i32)))
    (import "h" "rep" (func $rep (param i32) (result i32)))
    (import "d" "sum" (func $sum (result i32)))
    (func (export "run") (result i32) (local $one i32)
      (local.set $one (call $new (i32.const 7)))
      (drop (call $new (call $rep (local.get $one))))
      (call $drop (local.get $one))
      (call $sum))
    (func (export "forge") (result i32) (call $rep (i32.const 99))))
  (core instance $i (instantiate $m
    (with "h" (instance (export "new" (func $new)) (export "drop" (func $drop)) (export "rep" (func $rep))))
    (with "d" (instance $d))))
  (func (export "run") (result s32) (canon lift (core func $i "run")))
  (func (export "forge") (result s32) (canon lift (core func $i "forge"))))`;

/** The inner component adds a mark to a text, the outer one calls it, and each has its own memory. */
const NESTED = `(component
  (component $inner
    (core module $m
      (memory (export "memory") 1)
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
      (func (export "mark") (param $at i32) (param $length i32) (result i32)
        (i32.store8 (i32.add (local.get $at) (local.get $length)) (i32.const 33))
        (i32.store (i32.const 16) (local.get $at))
        (i32.store (i32.const 20) (i32.add (local.get $length) (i32.const 1)))
        (i32.const 16)))
    (core instance $i (instantiate $m))
    (func (export "mark") (param "text" string) (result string)
      (canon lift (core func $i "mark") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))
  (instance $inner (instantiate $inner))
  (core module $memory
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096)))
  (core instance $memory (instantiate $memory))
  (core func $mark (canon lower (func $inner "mark") (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
  (core module $m
    (import "h" "mark" (func $mark (param i32 i32 i32)))
    (func (export "shout") (param i32 i32) (result i32)
      (call $mark (local.get 0) (local.get 1) (i32.const 64))
      (i32.const 64)))
  (core instance $i (instantiate $m (with "h" (instance (export "mark" (func $mark))))))
  (func (export "shout") (param "text" string) (result string)
    (canon lift (core func $i "shout") (memory (core memory $memory "memory")) (realloc (core func $memory "realloc")))))`;
