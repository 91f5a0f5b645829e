/** State Changes in WebAssembly text format, which are small and quick to build. */
import { answer } from '../wasm/guests.ts';

/** A component with this body of `decide`; its result is in memory at 16. */
export function changeText(body: string): string {
  return `(component
    (core module $m
      (memory (export "memory") 1)
      (global $top (mut i32) (i32.const 4096))
      (func (export "realloc") (param i32 i32 i32 i32) (result i32)
        (global.get $top) (global.set $top (i32.add (global.get $top) (local.get 3))))
      (func (export "decide") (param i32 i32 i32 i32) (result i32) ${body}))
    (core instance $i (instantiate $m))
    (type $command (record (field "method" string) (field "path" string)))
    (type $event (record (field "id" string)))
    (type $error (variant (case "internal-error" string)))
    (type $events (list $event))
    (func (export "decide") (param "command" $command) (result (result $events (error $error)))
      (canon lift (core func $i "decide")
        (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))`;
}

/** A result with one event, whose type does not match cairn.wit. */
export const ONE_EVENT: string = answer('64', '1');

/** A result without events. */
export const NO_EVENT: string = answer('64', '0');
