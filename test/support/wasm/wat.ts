/** Builds core modules and components from WebAssembly text with wasm-tools. */
import { componentEmbed, componentNew, parse, print } from '@bytecodealliance/jco-transpile/wasm-tools';

export async function wat(text: string): Promise<Uint8Array> {
  return parse(text);
}

/** The text of a binary, to check that wasm-tools can read it. */
export async function watOf(bytes: Uint8Array): Promise<string> {
  return print(bytes);
}

/** An aligning allocator for a core module that never frees; `$top` is its start address. */
export function allocatorText(top: number, name: string = 'cabi_realloc'): string {
  return `(global $top (mut i32) (i32.const ${top}))
  (func (export "${name}") (param i32 i32 i32 i32) (result i32) (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.sub (local.get 2) (i32.const 1))) (i32.sub (i32.const 0) (local.get 2))))
    (global.set $top (i32.add (local.get $at) (local.get 3)))
    (local.get $at))`;
}

/** Exports of a State View that folds with `$begin`, `$step` for each event, and `$answer`. */
export const FOLDING = `
  (func (export "evolve") (param $s i32) (param $sn i32) (param $e i32) (param $en i32) (result i32)
    (call $begin (local.get $s) (local.get $sn))
    (call $step (local.get $e) (local.get $en))
    (call $answer))
  (func (export "evolve-many") (param $s i32) (param $sn i32) (param $l i32) (param $n i32) (result i32) (local $end i32)
    (call $begin (local.get $s) (local.get $sn))
    (local.set $end (i32.add (local.get $l) (i32.mul (local.get $n) (i32.const 8))))
    (block $out (loop $each
      (br_if $out (i32.ge_u (local.get $l) (local.get $end)))
      (call $step (i32.load (local.get $l)) (i32.load offset=4 (local.get $l)))
      (local.set $l (i32.add (local.get $l) (i32.const 8)))
      (br $each)))
    (call $answer))`;

/** Parts of a component, with defaults that the inspector accepts. */
export interface ViewParts {
  /** Fields of the core module, in addition to the memory and the common functions. */
  readonly core?: string;
  /** The memory of the core module. */
  readonly memory?: string;
  /** The body of the function for `evolve`. */
  readonly evolve?: string;
  /** Text before all other parts of the component, such as imports. */
  readonly before?: string;
  /** Text after all other parts. */
  readonly after?: string;
}

/** Text of a State View whose state is the last event. */
export function viewText(parts: ViewParts = {}): string {
  return `(component
    ${parts.before ?? ''}
    (core module $m ${coreText(parts)})
    (core instance $i (instantiate $m))
    (type $bytes (list u8))
    (type $folded (result $bytes (error string)))
    (func $evolve (param "state" $bytes) (param "event" $bytes) (result $folded)
      (canon lift (core func $i "evolve") (memory (core memory $i "memory")) (realloc (core func $i "cabi_realloc"))))
    (export "evolve" (func $evolve))
    ${parts.after ?? ''})`;
}

const LAST_EVENT = `
  (i32.store8 (i32.const 16) (i32.const 0))
  (i32.store (i32.const 20) (local.get $e))
  (i32.store (i32.const 24) (local.get $en))
  (i32.const 16)`;

/** Fields of its core module. */
function coreText({ core = '', memory = '1', evolve = LAST_EVENT }: ViewParts = {}): string {
  return `
    (memory (export "memory") ${memory})
    (global $top (mut i32) (i32.const 4096))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
      (global.get $top) (global.set $top (i32.add (global.get $top) (local.get 3))))
    (func (export "evolve") (param $s i32) (param $sn i32) (param $e i32) (param $en i32) (result i32) ${evolve})
    ${core}`;
}

/** A component that wasm-tools generates from a world: it has all types, imports and exports, and no behaviour. */
export async function componentOf(witSource: string, world: string): Promise<Uint8Array> {
  return componentNew(await componentEmbed({ dummy: true, witSource, world }), []);
}
