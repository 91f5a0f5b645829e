/** A readable State View: one line per event, between a first and a last text. */
import { allocatorText, wat } from '../wasm/wat.ts';

export interface Lines {
  readonly first?: string;
  readonly line: string;
  readonly last?: string;
}

const FIRST_AT = 256;
const LINE_AT = 512;
const LAST_AT = 768;
const ANSWER_AT = 1024 * 1024;

export async function linesView({ first = '', line, last = '' }: Lines): Promise<Uint8Array> {
  const copied = (at: number, text: string): string => `
    (memory.copy (global.get $end) (i32.const ${at}) (i32.const ${text.length}))
    (global.set $end (i32.add (global.get $end) (i32.const ${text.length})))`;
  const state = `
    (memory.copy (global.get $end) (local.get $s) (local.get $sn))
    (global.set $end (i32.add (global.get $end) (local.get $sn)))`;
  const answered = (name: string, parts: readonly string[]): string => `
    (func (export "${name}") (param $s i32) (param $sn i32) (param i32 i32) (result i32)
      (global.set $end (i32.const ${ANSWER_AT}))
      ${parts.join('')}
      (i32.store8 (i32.const 16) (i32.const 0))
      (i32.store (i32.const 20) (i32.const ${ANSWER_AT}))
      (i32.store (i32.const 24) (i32.sub (global.get $end) (i32.const ${ANSWER_AT})))
      (i32.const 16))`;
  const data = (at: number, text: string): string => `(data (i32.const ${at}) ${JSON.stringify(text)})`;
  const lifted = (name: string): string => `
    (func $${name} (param "a" $bytes) (param "b" $bytes) (result $folded) (canon lift (core func $i "${name}")
      (memory (core memory $i "memory")) (realloc (core func $i "cabi_realloc")) (post-return (core func $i "post"))))
    (export "${name}" (func $${name}))`;
  return wat(`(component
    (core module $m
      (memory (export "memory") 64)
      ${data(FIRST_AT, first)} ${data(LINE_AT, line)} ${data(LAST_AT, last)}
      (global $end (mut i32) (i32.const 0))
      ${allocatorText(4096)}
      (func (export "post") (param i32) (global.set $top (i32.const 4096)))
      ${answered('evolve', [state, copied(LINE_AT, line)])}
      ${answered('query', [copied(FIRST_AT, first), state, copied(LAST_AT, last)])})
    (core instance $i (instantiate $m))
    (type $bytes (list u8)) (type $folded (result $bytes (error string)))
    ${lifted('evolve')}
    ${lifted('query')})`);
}
