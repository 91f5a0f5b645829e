/**
 * A State View that reads every byte of its events, with or without a batch function; its state is a count and a sum.
 */
import { allocatorText, FOLDING } from './wat.ts';

const FOLDED = '(type $bytes (list u8)) (type $many (list $bytes)) (type $folded (result $bytes (error string)))';
const OPTIONS = `(memory (core memory $i "memory")) (realloc (core func $i "cabi_realloc")) (post-return (core func $i "post"))`;

/** Its text, with or without the batch function. */
export function countingText(options: { readonly hasBatch: boolean }): string {
  const batch = `(func $many (param "state" $bytes) (param "events" $many) (result $folded)
      (canon lift (core func $i "evolve-many") ${OPTIONS}))
    (export "evolve-many" (func $many))`;
  return `(component
    (core module $m ${CORE})
    (core instance $i (instantiate $m))
    ${FOLDED}
    (func $evolve (param "state" $bytes) (param "event" $bytes) (result $folded)
      (canon lift (core func $i "evolve") ${OPTIONS}))
    (export "evolve" (func $evolve))
    ${options.hasBatch ? batch : ''})`;
}

/** A memory whose allocator restarts after each call; the state is at 64, the result at 16. */
const CORE: string = `
  (memory (export "memory") 64)
  ${allocatorText(4096)}
  (func (export "post") (param i32) (global.set $top (i32.const 4096)))
  (func $begin (param $s i32) (param $n i32)
    (memory.fill (i32.const 64) (i32.const 0) (i32.const 16))
    (memory.copy (i32.const 64) (local.get $s) (local.get $n)))
  (func $step (param $e i32) (param $n i32) (local $end i32) (local $sum i64)
    (local.set $end (i32.add (local.get $e) (i32.and (local.get $n) (i32.const -8))))
    (block $out (loop $words
      (br_if $out (i32.ge_u (local.get $e) (local.get $end)))
      (local.set $sum (i64.add (i64.rotl (local.get $sum) (i64.const 5)) (i64.load align=1 (local.get $e))))
      (local.set $e (i32.add (local.get $e) (i32.const 8)))
      (br $words)))
    (i64.store (i32.const 64) (i64.add (i64.load (i32.const 64)) (i64.const 1)))
    (i64.store (i32.const 72) (i64.xor (i64.load (i32.const 72)) (local.get $sum))))
  (func $answer (result i32)
    (i32.store8 (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (i32.const 64))
    (i32.store (i32.const 24) (i32.const 16))
    (i32.const 16))
  ${FOLDING}`;
