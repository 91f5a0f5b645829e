/** A State Change that always emits the same event, regardless of the command. */
import { wat } from '../../support/wasm/wat.ts';
import type { WrittenEvent } from '../model/vocabulary.ts';

export const STATE_CHANGE_EVENT: WrittenEvent = {
  id: 'c',
  source: 'orders',
  specversion: '1.0',
  type: 't',
  extensions: {},
};

/** Memory: the result at 16, the event in the record of cairn.wit at 64, and its texts at 256. */
const TEXT = `(component
  (core module $m
    (memory (export "memory") 1)
    (data (i32.const 16) "\\00\\00\\00\\00" "\\40\\00\\00\\00" "\\01\\00\\00\\00")
    (data (i32.const 64) "\\00\\01\\00\\00" "\\01\\00\\00\\00" "\\01\\01\\00\\00" "\\06\\00\\00\\00"
                         "\\07\\01\\00\\00" "\\03\\00\\00\\00" "\\0a\\01\\00\\00" "\\01\\00\\00\\00")
    (data (i32.const 256) "corders1.0t")
    (global $top (mut i32) (i32.const 4096))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.get $top) (global.set $top (i32.add (global.get $top) (local.get 3))))
    (func (export "decide") (param i32 i32 i32 i32) (result i32) (i32.const 16)))
  (core instance $i (instantiate $m))
  (type $command (record (field "method" string) (field "path" string)))
  (type $time (record (field "seconds" u64) (field "nanoseconds" u32)))
  (type $data (variant (case "binary" (list u8)) (case "string" string)))
  (type $value (variant (case "boolean" bool) (case "integer" s32) (case "string" string) (case "binary" (list u8))
    (case "uri" string) (case "uri-ref" string) (case "timestamp" $time)))
  (type $event (record (field "id" string) (field "source" string) (field "specversion" string) (field "type" string)
    (field "data" (option $data)) (field "attributes" (list (tuple string $value)))))
  (type $error (variant (case "internal-error" string)))
  (func (export "decide") (param "command" $command) (result (result (list $event) (error $error)))
    (canon lift (core func $i "decide")
      (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))`;

export const STATE_CHANGE_BASE64: string = Buffer.from(await wat(TEXT)).toString('base64');
