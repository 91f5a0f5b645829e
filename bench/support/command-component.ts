/**
 * A handwritten State Change in the form that compilers generate: it reads the State View `counted` of the account in
 * the path of its command, and emits one event with that path as its subject.
 *
 * Memory layout:
 *   32 names    1024 the event    2048 its attribute    2100 the parameter    3000 result of the reader    4096 free
 */

const READER = 'cairn:component/state-reader@0.1.0';

export const VIEW_NAME = 'counted';
/** Name of the parameter of the State View. */
export const PARAMETER = 'account';

const TEXTS = {
  view: VIEW_NAME,
  parameter: `subject.${PARAMETER}`,
  source: 'accounts',
  spec: '1.0',
  type: 'counted',
  subject: 'subject',
};

interface Place {
  readonly at: number;
  readonly length: number;
}

/** Positions of the texts in memory, one after the other. */
function places(): ReadonlyMap<keyof typeof TEXTS, Place> {
  const found = new Map<keyof typeof TEXTS, Place>();
  let at = 32;
  for (const [name, text] of Object.entries(TEXTS)) {
    if (isName(name)) found.set(name, { at, length: text.length });
    at += text.length;
  }
  return found;
}

function isName(name: string): name is keyof typeof TEXTS {
  return name in TEXTS;
}

/** The component in WebAssembly text format. */
export function commandComponent(): string {
  const at = places();
  const pair = (name: keyof typeof TEXTS): string => {
    const place = at.get(name) ?? { at: 0, length: 0 };
    return `(i32.const ${place.at}) (i32.const ${place.length})`;
  };
  const put = (address: number, name: keyof typeof TEXTS): string => {
    const place = at.get(name) ?? { at: 0, length: 0 };
    return `(i32.store (i32.const ${address}) (i32.const ${place.at})) (i32.store (i32.const ${address + 4}) (i32.const ${place.length}))`;
  };
  return `(component
    (type $bytes (list u8))
    (type $pair (tuple string string))
    (type $pairs (list $pair))
    (type $state (option $bytes))
    (type $read (result $state (error string)))
    (import "${READER}" (instance $r
      (export "get-state-view" (func (param "name" string) (param "parameters" (list (tuple string string)))
        (result (result (option (list u8)) (error string)))))))
    (core module $memory
      (memory (export "memory") 2)
      (data (i32.const 32) "${Object.values(TEXTS).join('')}")
      (global $top (export "top") (mut i32) (i32.const 4096))
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
        (global.set $top (i32.add (local.get $at) (local.get 3)))
        (local.get $at)))
    (core instance $memory (instantiate $memory))
    (core func $get (canon lower (func $r "get-state-view")
      (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
    (core module $m
      (import "h" "memory" (memory 2))
      (import "h" "top" (global $top (mut i32)))
      (import "h" "get" (func $get (param i32 i32 i32 i32 i32)))
      (func (export "post") (param i32) (global.set $top (i32.const 4096)))
      (func (export "decide") (param i32 i32 i32 i32) (result i32)
        ${put(2100, 'parameter')}
        (i32.store (i32.const 2108) (local.get 2)) (i32.store (i32.const 2112) (local.get 3))
        (call $get ${pair('view')} (i32.const 2100) (i32.const 1) (i32.const 3000))
        ${put(1032, 'source')} ${put(1040, 'spec')} ${put(1048, 'type')}
        (i32.store (i32.const 1072) (i32.const 2048)) (i32.store (i32.const 1076) (i32.const 1))
        ${put(2048, 'subject')}
        (i32.store (i32.const 2060) (local.get 2)) (i32.store (i32.const 2064) (local.get 3))
        (i32.store8 (i32.const 16) (i32.const 0))
        (i32.store (i32.const 20) (i32.const 1024)) (i32.store (i32.const 24) (i32.const 1))
        (i32.const 16)))
    (core instance $i (instantiate $m (with "h" (instance
      (export "memory" (memory $memory "memory")) (export "top" (global $memory "top")) (export "get" (func $get))))))
    (type $command (record (field "method" string) (field "path" string)))
    (type $data (variant (case "binary" (list u8)) (case "string" string)))
    (type $value (variant (case "string" string)))
    (type $event (record (field "id" string) (field "source" string) (field "specversion" string)
      (field "type" string) (field "data" (option $data)) (field "attributes" (list (tuple string $value)))))
    (type $error (variant (case "internal-error" string)))
    (type $events (list $event))
    (func (export "decide") (param "command" $command) (result (result $events (error $error)))
      (canon lift (core func $i "decide") (memory (core memory $memory "memory"))
        (realloc (core func $memory "realloc")) (post-return (core func $i "post")))))`;
}
