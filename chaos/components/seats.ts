/**
 * Components that sell the seats of houses. They are small, so that a restarted node loads them quickly.
 *
 * An event `sold.NN` with subject `NNNN` in the stream `seats` records that a seat of a house is sold. The State Change
 * sells a seat when the State View counts fewer sold seats than the limit, and no event says that it is sold: one rule
 * depends on a State View, the other on events.
 */
import { wat } from '../../test/support/wasm/wat.ts';

/** Seats of a house, and the maximum number of them that are sold. */
export const SEATS = 20;
export const SOLD_MAX = 8;
const STREAM = 'seats';
export const VIEW = 'counted';
export const CHANGE = 'sell';
/** Parameter of the view. */
export const PARAMETER = 'house';

export function commandPath(house: string, seat: string): string {
  return `/houses/${house}/seats/${seat}`;
}

export function eventType(seat: string): string {
  return `sold.${seat}`;
}

/** Memory addresses of the initial data. */
const SELECTOR = 64;
const SELECTOR_TEXT = '{"stream":"seats","event_type":"sold.00","subject":"0000"}';
const TYPE = 160;
const HOUSE = 176;
const TEXTS = 192;
const TEXT = `${STREAM}1.0subject${VIEW}subject.${PARAMETER}fulltakenno answer`;

function at(text: string): string {
  return `(i32.const ${TEXTS + TEXT.indexOf(text)}) (i32.const ${text.length})`;
}

function quoted(text: string): string {
  return text.replaceAll('"', '\\22');
}

/** Stores the address and length of a text at `place`. */
function store(place: number, text: string): string {
  const [start, length] = [`(i32.const ${TEXTS + TEXT.indexOf(text)})`, `(i32.const ${text.length})`];
  return `(i32.store (i32.const ${place}) ${start}) (i32.store (i32.const ${place + 4}) ${length})`;
}

const READER = 'cairn:component/state-reader@0.1.0';

export function sellingChange(): Promise<Uint8Array> {
  return wat(`(component
    (import "${READER}" (instance $reader
      (type $error (variant (case "not-found" string) (case "invalid-input" string) (case "unavailable" string)))
      (export "get-state-view" (func (param "name" string) (param "parameters" (list (tuple string string)))
        (result (result (option (list u8)) (error $error)))))
      (export "query-events" (func (param "selector" string) (param "limit" u32)
        (result (result (list (list u8)) (error $error)))))))
    (core module $memory
      (memory (export "memory") 16)
      (data (i32.const ${SELECTOR}) "${quoted(SELECTOR_TEXT)}")
      (data (i32.const ${TYPE}) "sold.00")
      (data (i32.const ${HOUSE}) "0000")
      (data (i32.const ${TEXTS}) "${TEXT}")
      (global $top (mut i32) (i32.const 65536))
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $top) (i32.sub (local.get 2) (i32.const 1)))
          (i32.sub (i32.const 0) (local.get 2))))
        (global.set $top (i32.add (local.get $at) (local.get 3)))
        (local.get $at))
      (func (export "post") (param i32) (global.set $top (i32.const 65536))))
    (core instance $memory (instantiate $memory))
    (core func $view (canon lower (func $reader "get-state-view")
      (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
    (core func $events (canon lower (func $reader "query-events")
      (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
    (core module $m ${CORE})
    (core instance $i (instantiate $m (with "h" (instance (export "memory" (memory $memory "memory"))
      (export "view" (func $view)) (export "events" (func $events))))))
    (type $command (record (field "path" string)))
    (type $value (variant (case "string" string)))
    (type $event (record (field "id" string) (field "source" string) (field "specversion" string)
      (field "type" string) (field "attributes" (list (tuple string $value)))))
    (type $explanation (record (field "message" string) (field "code" (option string))))
    (type $error (variant (case "validation-failed" $explanation)))
    (func (export "decide") (param "command" $command) (result (result (list $event) (error $error)))
      (canon lift (core func $i "decide") (memory (core memory $memory "memory"))
        (realloc (core func $memory "realloc")) (post-return (core func $memory "post")))))`);
}

/**
 * The result of `decide` starts at 1024, its parts at 1056, and results of imports at 2048.
 *
 *   1056 event   id, source, specversion, type, attributes, each an address and a length
 *   1120 the only attribute   name, the kind of its value, value
 *   2064 the only parameter   name, value
 */
const CORE = `
  (import "h" "memory" (memory 1))
  (import "h" "view" (func $view (param i32 i32 i32 i32 i32)))
  (import "h" "events" (func $events (param i32 i32 i32 i32)))
  (func $refused (param $code i32) (param $length i32) (result i32)
    (i32.store8 (i32.const 1024) (i32.const 1))
    (i32.store8 (i32.const 1028) (i32.const 0))
    (i32.store (i32.const 1032) (local.get $code)) (i32.store (i32.const 1036) (local.get $length))
    (i32.store8 (i32.const 1040) (i32.const 1))
    (i32.store (i32.const 1044) (local.get $code)) (i32.store (i32.const 1048) (local.get $length))
    (i32.const 1024))
  (func (export "decide") (param $path i32) (param $length i32) (result i32)
    (local $house i32) (local $seat i32)
    (if (i32.ne (local.get $length) (i32.const ${commandPath('0000', '00').length})) (then unreachable))
    (local.set $house (i32.load (i32.add (local.get $path) (i32.const 8))))
    (local.set $seat (i32.load16_u (i32.add (local.get $path) (i32.const 19))))
    (i32.store (i32.const ${HOUSE}) (local.get $house))
    (i32.store (i32.const ${SELECTOR + SELECTOR_TEXT.indexOf('0000')}) (local.get $house))
    (i32.store16 (i32.const ${SELECTOR + SELECTOR_TEXT.indexOf('00"')}) (local.get $seat))
    (i32.store16 (i32.const ${TYPE + 5}) (local.get $seat))

    ${store(2064, `subject.${PARAMETER}`)}
    (i32.store (i32.const 2072) (i32.const ${HOUSE})) (i32.store (i32.const 2076) (i32.const 4))
    (call $view ${at(VIEW)} (i32.const 2064) (i32.const 1) (i32.const 2048))
    (if (i32.load8_u (i32.const 2048)) (then (return (call $refused ${at('no answer')}))))
    (if (i32.load8_u (i32.const 2052)) (then
      (if (i32.ge_u (i32.load (i32.load (i32.const 2056))) (i32.const ${SOLD_MAX}))
        (then (return (call $refused ${at('full')}))))))

    (call $events (i32.const ${SELECTOR}) (i32.const ${SELECTOR_TEXT.length}) (i32.const 1) (i32.const 2048))
    (if (i32.load8_u (i32.const 2048)) (then (return (call $refused ${at('no answer')}))))
    (if (i32.load (i32.const 2056)) (then (return (call $refused ${at('taken')}))))

    (i32.store (i32.const 1056) (i32.const ${TYPE})) (i32.store (i32.const 1060) (i32.const 0))
    ${store(1064, STREAM)}
    ${store(1072, '1.0')}
    (i32.store (i32.const 1080) (i32.const ${TYPE})) (i32.store (i32.const 1084) (i32.const 7))
    (i32.store (i32.const 1088) (i32.const 1120)) (i32.store (i32.const 1092) (i32.const 1))
    ${store(1120, 'subject')}
    (i32.store8 (i32.const 1128) (i32.const 0))
    (i32.store (i32.const 1132) (i32.const ${HOUSE})) (i32.store (i32.const 1136) (i32.const 4))
    (i32.store8 (i32.const 1024) (i32.const 0))
    (i32.store (i32.const 1028) (i32.const 1056)) (i32.store (i32.const 1032) (i32.const 1))
    (i32.const 1024))`;
