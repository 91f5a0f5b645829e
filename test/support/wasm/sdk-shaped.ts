/**
 * Components in the form of the EvidentSource SDK in text format, with the types of ADR 0102 and without a toolchain.
 */
import { allocatorText } from './wat.ts';

const TYPES = `
  (type $bytes (list u8))
  (type $datetime (record (field "seconds" u64) (field "nanoseconds" u32)))
  (type $data (variant (case "binary" $bytes) (case "string" string)))
  (type $value (variant (case "boolean" bool) (case "integer" s32) (case "string" string) (case "binary" $bytes)
    (case "uri" string) (case "uri-ref" string) (case "timestamp" $datetime)))
  (type $attribute (tuple string $value))
  (type $attributes (list $attribute))
  (type $maybe-data (option $data))
  (type $cloudevent (record (field "id" string) (field "source" string) (field "specversion" string)
    (field "type" string) (field "data" $maybe-data) (field "attributes" $attributes)))
  (type $events (list $cloudevent))
  (type $maybe-text (option string))
  (type $maybe-bytes (option $bytes))
  (type $context (record (field "database" string) (field "name" string) (field "version" u64)
    (field "database-revision" u64) (field "database-revision-timestamp" $datetime)
    (field "content-type" $maybe-text) (field "content-schema" $maybe-text)))
  (type $view (record (field "context" $context) (field "content" $maybe-bytes)
    (field "last-modified-revision" u64) (field "last-modified-timestamp" $datetime)))`;

/** FNV-1a over every field of an event, each followed by a byte 1. */
const HASHING = `
  (func $begin (param $p i32)
    (memory.fill (i32.const 64) (i32.const 0) (i32.const 8))
    (if (i32.load8_u offset=72 (local.get $p))
      (then (memory.copy (i32.const 64) (i32.load offset=76 (local.get $p)) (i32.const 8)))))
  (func $bytes (param $at i32) (param $n i32) (local $end i32) (local $hash i32)
    (local.set $end (i32.add (local.get $at) (local.get $n)))
    (local.set $hash (i32.load (i32.const 68)))
    (block $out (loop $each
      (br_if $out (i32.ge_u (local.get $at) (local.get $end)))
      (local.set $hash (i32.mul (i32.xor (local.get $hash) (i32.load8_u (local.get $at))) (i32.const 16777619)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $each)))
    (i32.store (i32.const 68) (i32.add (local.get $hash) (i32.const 1))))
  (func $text (param $at i32) (call $bytes (i32.load (local.get $at)) (i32.load offset=4 (local.get $at))))
  (func $attribute (param $a i32) (local $case i32)
    (call $text (local.get $a))
    (call $bytes (i32.add (local.get $a) (i32.const 8)) (i32.const 1))
    (local.set $case (i32.load8_u offset=8 (local.get $a)))
    (local.set $a (i32.add (local.get $a) (i32.const 16)))
    (if (i32.eq (local.get $case) (i32.const 0)) (then (return (call $bytes (local.get $a) (i32.const 1)))))
    (if (i32.eq (local.get $case) (i32.const 1)) (then (return (call $bytes (local.get $a) (i32.const 4)))))
    (if (i32.eq (local.get $case) (i32.const 6)) (then (return (call $bytes (local.get $a) (i32.const 12)))))
    (call $text (local.get $a)))
  (func $event (param $e i32) (local $a i32) (local $end i32)
    (call $text (local.get $e))
    (call $text (i32.add (local.get $e) (i32.const 8)))
    (call $text (i32.add (local.get $e) (i32.const 16)))
    (call $text (i32.add (local.get $e) (i32.const 24)))
    (if (i32.load8_u offset=32 (local.get $e))
      (then
        (call $bytes (i32.add (local.get $e) (i32.const 36)) (i32.const 1))
        (call $text (i32.add (local.get $e) (i32.const 40)))))
    (local.set $a (i32.load offset=48 (local.get $e)))
    (local.set $end (i32.add (local.get $a) (i32.mul (i32.load offset=52 (local.get $e)) (i32.const 32))))
    (block $out (loop $each
      (br_if $out (i32.ge_u (local.get $a) (local.get $end)))
      (call $attribute (local.get $a))
      (local.set $a (i32.add (local.get $a) (i32.const 32)))
      (br $each)))
    (i32.store (i32.const 64) (i32.add (i32.load (i32.const 64)) (i32.const 1))))
  (func $all (param $p i32) (local $e i32) (local $end i32)
    (local.set $e (i32.load offset=112 (local.get $p)))
    (local.set $end (i32.add (local.get $e) (i32.mul (i32.load offset=116 (local.get $p)) (i32.const 56))))
    (block $out (loop $each
      (br_if $out (i32.ge_u (local.get $e) (local.get $end)))
      (call $event (local.get $e))
      (local.set $e (i32.add (local.get $e) (i32.const 56)))
      (br $each))))`;

/** Appends to the count and the hash: the database, the view, the content type, and the revisions, which must be 0. */
const TOLD = `
  (func $told (param $p i32) (result i32) (local $to i32)
    (local.set $to (i32.const 72))
    (i64.store (local.get $to) (i64.or (i64.load offset=24 (local.get $p)) (i64.load offset=88 (local.get $p))))
    (local.set $to (i32.add (local.get $to) (i32.const 8)))
    (local.set $to (call $put (local.get $to) (local.get $p)))
    (local.set $to (call $put (local.get $to) (i32.add (local.get $p) (i32.const 8))))
    (call $put (local.get $to) (i32.add (local.get $p) (i32.const 52))))
  (func $put (param $to i32) (param $text i32) (result i32)
    (memory.copy (local.get $to) (i32.load (local.get $text)) (i32.load offset=4 (local.get $text)))
    (i32.add (local.get $to) (i32.load offset=4 (local.get $text))))`;

const FOLD = `
  (call $begin (local.get $p))
  (call $all (local.get $p))
  (i32.store8 (i32.const 16) (i32.const 1))
  (i32.store (i32.const 20) (i32.const 64))
  (i32.store (i32.const 24) (i32.sub (call $told (local.get $p)) (i32.const 64)))
  (i32.const 16)`;

/** Its state is a count, a hash of every part of every event, and its title. `$p` is the input; the result is at 16. */
export function sdkViewText(evolve: string = FOLD, types: string = TYPES): string {
  return `(component
    (core module $m
      (memory (export "memory") 512)
      ${allocatorText(65_536)} ${HASHING} ${TOLD}
      (func (export "post") (param i32) (global.set $top (i32.const 65536)))
      (func (export "evolve") (param $p i32) (result i32) ${evolve}))
    (core instance $i (instantiate $m))
    ${types}
    (func $evolve (param "state-view" $view) (param "events" $events) (result $maybe-bytes)
      (canon lift (core func $i "evolve")
        (memory (core memory $i "memory")) (realloc (core func $i "cabi_realloc")) (post-return (core func $i "post"))))
    (export "evolve" (func $evolve)))`;
}

/** The same types with one name replaced. */
export function sdkTypesWith(from: string, to: string): string {
  if (!TYPES.includes(from)) throw new Error(`The types have no ${from}`);
  return TYPES.replace(from, to);
}

/** The text that follows the count and the hash. */
export function toldTo(database: string, name: string, contentType: string): string {
  return `${'\0'.repeat(8)}${database}${name}${contentType}`;
}

type Part = string | Uint8Array;

/** An attribute with its variant case. */
export interface NaiveAttribute {
  readonly name: string;
  readonly kind: 'boolean' | 'integer' | 'string' | 'binary' | 'uri' | 'uri-ref' | 'timestamp';
  readonly value: Part;
}

export interface NaiveEvent {
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly data: { readonly kind: 'binary' | 'string'; readonly value: Part } | undefined;
  readonly attributes: readonly NaiveAttribute[];
}

const CASES = ['boolean', 'integer', 'string', 'binary', 'uri', 'uri-ref', 'timestamp'];

/** The count and the hash after these events, computed by a loop. */
export function naiveSdkState(events: readonly NaiveEvent[]): Buffer {
  let hash = 0;
  const add = (part: Part): void => {
    for (const byte of Buffer.from(part)) hash = Math.imul(hash ^ byte, 16_777_619);
    hash = (hash + 1) | 0;
  };
  for (const { id, source, type, data, attributes } of events) {
    for (const text of [id, source, '1.0', type]) add(text);
    if (data !== undefined) {
      add(Uint8Array.of(data.kind === 'binary' ? 0 : 1));
      add(data.value);
    }
    for (const { name, kind, value } of attributes) {
      add(name);
      add(Uint8Array.of(CASES.indexOf(kind)));
      add(value);
    }
  }
  const state = Buffer.alloc(8);
  state.writeUInt32LE(events.length, 0);
  state.writeInt32LE(hash, 4);
  return state;
}

/** Seconds and nanoseconds in their memory layout. */
export function naiveInstant(seconds: number, nanos: number = 0): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeBigUInt64LE(BigInt(seconds), 0);
  bytes.writeUInt32LE(nanos, 8);
  return bytes;
}
