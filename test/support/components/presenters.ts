/** Presenters in WebAssembly text format, requests to them, and readers of their output. */
import { createHash } from 'node:crypto';
import {
  DEFAULT_PRESENTERS,
  type OpenBody,
  type PresentationAsked,
  type PresenterSettings,
  Presenters,
} from '#components';
import { systemTimers } from '#service';
import { type Binding, decodeArtifact, type Executors } from '#wasm';
import { artifactOf } from '../wasm/executors.ts';
import { allocatorText } from '../wasm/wat.ts';

const SINK = 'cairn:component/sink@0.1.0';

/**
 * A presenter whose `present` has these instructions. `$state` and `$stateBytes` are its state; `$write` and
 * `$continue` are the sink; memory from 1,048,576 is free; `(call $no (i32.const 1))` returns the second error. `core`
 * has additional functions.
 */
export function presenterText(present: string, core: string = ''): string {
  return `(component
    (import "${SINK}" (instance $sink
      (export "write" (func (param "bytes" (list u8)) (result bool)))
      (export "continue-with" (func (param "token" string)))))
    (core module $memory
      (memory (export "memory") 64)
      (data (i32.const 64) "because")
      ${allocatorText(4096, 'realloc')})
    (core instance $memory (instantiate $memory))
    (core func $write (canon lower (func $sink "write") (memory (core memory $memory "memory"))))
    (core func $continue (canon lower (func $sink "continue-with") (memory (core memory $memory "memory"))))
    (core module $m
      (import "h" "memory" (memory 1))
      (import "h" "write" (func $write (param i32 i32) (result i32)))
      (import "h" "continue" (func $continue (param i32 i32)))
      (func $ok (result i32) (i32.store8 (i32.const 16) (i32.const 0)) (i32.const 16))
      (func $no (param $case i32) (result i32)
        (i32.store8 (i32.const 16) (i32.const 1)) (i32.store8 (i32.const 20) (local.get $case))
        (i32.store (i32.const 24) (i32.const 64)) (i32.store (i32.const 28) (i32.const 7)) (i32.const 16))
      ${core}
      (func (export "present") (param $given i32) (result i32)
        (local $state i32) (local $stateBytes i32) (local $i i32) (local $part i32)
        (local.set $state (i32.load offset=64 (local.get $given)))
        (local.set $stateBytes (i32.load offset=68 (local.get $given)))
        ${present}))
    (core instance $i (instantiate $m (with "h" (instance (export "memory" (memory $memory "memory"))
      (export "write" (func $write)) (export "continue" (func $continue))))))
    (type $pair (tuple string string))
    (type $presentation (record (field "database" string) (field "database-id" string) (field "revision" u64)
      (field "view" string) (field "version" u32) (field "content-type" string)
      (field "parameters" (list $pair)) (field "settings" (option string))))
    (type $error (variant (case "invalid-input" string) (case "not-found" string) (case "internal-error" string)))
    (func (export "present") (param "presentation" $presentation) (param "state" (list u8)) (result (result (error $error)))
      (canon lift (core func $i "present")
        (memory (core memory $memory "memory")) (realloc (core func $memory "realloc")))))`;
}

/** Writes as many parts of a length as its state says, each starting with its number, while the reader continues. */
export const COUNTING: string = presenterText(`
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $part) (i32.load (local.get $state))))
      (i32.store (i32.const 1048576) (local.get $part))
      (local.set $i (call $write (i32.const 1048576) (i32.load offset=4 (local.get $state))))
      (if (i32.eqz (local.get $i)) (then (return (call $ok))))
      (local.set $part (i32.add (local.get $part) (i32.const 1)))
      (br $next)))
    (call $ok)`);

/** Writes its parameters as lines `name=value`, and announces another page with the token `because`. */
export const SHOWING: string = presenterText(`
  (call $continue (i32.const 64) (i32.const 7))
  (local.set $part (i32.load offset=44 (local.get $given)))
  (i32.store8 (i32.const 1048576) (i32.const 61))
  (i32.store8 (i32.const 1048577) (i32.const 10))
  (block $done (loop $next
    (br_if $done (i32.ge_u (local.get $i) (i32.load offset=48 (local.get $given))))
    (drop (call $write (i32.load (local.get $part)) (i32.load offset=4 (local.get $part))))
    (drop (call $write (i32.const 1048576) (i32.const 1)))
    (drop (call $write (i32.load offset=8 (local.get $part)) (i32.load offset=12 (local.get $part))))
    (drop (call $write (i32.const 1048577) (i32.const 1)))
    (local.set $part (i32.add (local.get $part) (i32.const 16)))
    (local.set $i (i32.add (local.get $i) (i32.const 1)))
    (br $next)))
  (call $ok)`);

/** Writes parts according to its first three parameters: count, bytes of each, and 1 to refuse afterwards. */
export const PORTIONED: string = presenterText(
  `
  (global.set $count (call $number (local.get $given) (i32.const 0)))
  (global.set $bytes (call $number (local.get $given) (i32.const 1)))
  (block $done (loop $next
    (br_if $done (i32.ge_u (local.get $part) (global.get $count)))
    (i32.store (i32.const 1048576) (local.get $part))
    (if (i32.eqz (call $write (i32.const 1048576) (global.get $bytes))) (then (return (call $ok))))
    (local.set $part (i32.add (local.get $part) (i32.const 1)))
    (br $next)))
  (if (call $number (local.get $given) (i32.const 2)) (then (return (call $no (i32.const 1)))))
  (call $ok)`,
  `
  (global $count (mut i32) (i32.const 0))
  (global $bytes (mut i32) (i32.const 0))
  (func $number (param $given i32) (param $place i32) (result i32) (local $at i32) (local $end i32) (local $number i32)
    (local.set $at (i32.add (i32.load offset=44 (local.get $given)) (i32.mul (local.get $place) (i32.const 16))))
    (local.set $end (i32.load offset=12 (local.get $at)))
    (local.set $at (i32.load offset=8 (local.get $at)))
    (local.set $end (i32.add (local.get $at) (local.get $end)))
    (block $done (loop $digits
      (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
      (local.set $number (i32.add (i32.mul (local.get $number) (i32.const 10))
        (i32.sub (i32.load8_u (local.get $at)) (i32.const 48))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $digits)))
    (local.get $number))`,
);

/** State of the counting presenter. */
export function counted(partCount: number, partBytes: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(partCount, partBytes).buffer);
}

/** Digest of the counting presenter's output. */
export function countedDigest(partCount: number, partBytes: number): string {
  const hash = createHash('sha256');
  for (let part = 0; part < partCount; part++) {
    const bytes = Buffer.alloc(partBytes);
    bytes.writeUInt32LE(part);
    hash.update(bytes);
  }
  return hash.digest('hex');
}

export async function asking(text: string, more: Partial<PresentationAsked> = {}): Promise<PresentationAsked> {
  const kept = await artifactOf(text, 'presenter');
  return {
    artifact: { ...kept, key: kept.digest, binding: bindingOf(kept.bytes) },
    database: 'shop',
    databaseId: '01900000-0000-7000-8000-000000000000',
    revision: 7,
    view: 'orders',
    version: 2,
    contentType: 'text/csv',
    parameters: new Map([['limit', '5']]),
    state: counted(3, 10),
    firstMs: 20_000,
    wholeMs: 60_000,
    ...more,
  };
}

function bindingOf(artifact: Uint8Array): Binding {
  const decoded = decodeArtifact(artifact);
  if (decoded === undefined) throw new Error('The artifact is of another policy');
  return decoded.binding;
}

export function presenters(executors: Pick<Executors, 'call'>, settings: Partial<PresenterSettings> = {}): Presenters {
  return new Presenters(executors, systemTimers, { ...DEFAULT_PRESENTERS, runningMax: 1, ...settings });
}

export interface ReadBody {
  readonly digest: string;
  readonly byteCount: number;
  /** Code of the final failure. */
  readonly code: string | undefined;
  readonly message: string | undefined;
}

/** Reads the whole body. */
export async function readAll(body: OpenBody): Promise<ReadBody> {
  const hash = createHash('sha256');
  for (let byteCount = 0; ; ) {
    const part = await body.next();
    if (part.kind === 'bytes') {
      hash.update(part.bytes);
      byteCount += part.bytes.length;
    } else {
      const error = part.kind === 'failed' ? part.error : undefined;
      return { digest: hash.digest('hex'), byteCount, code: error?.code, message: error?.message };
    }
  }
}
