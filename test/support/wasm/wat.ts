/** WebAssembly from its text, core modules and components alike, by wasm-tools. */
import { componentEmbed, componentNew, parse, print } from '@bytecodealliance/jco-transpile/wasm-tools';

export async function wat(text: string): Promise<Uint8Array> {
  return parse(text);
}

/** The text of a binary, for whoever wants to see that wasm-tools reads it. */
export async function watOf(bytes: Uint8Array): Promise<string> {
  return print(bytes);
}

/** What a component may be made of, each with a default that the inspector accepts. */
export interface ViewParts {
  /** Fields of the core module, beside the memory and the functions that every one has. */
  readonly core?: string;
  /** The memory of the core module. */
  readonly memory?: string;
  /** The body of the function behind `evolve`. */
  readonly evolve?: string;
  /** Of the component, in front of everything else: its imports, say. */
  readonly before?: string;
  /** Behind everything else. */
  readonly after?: string;
}

/** The text of a State View: its state is the event that came last. */
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

/** The fields of its core module. */
function coreText({ core = '', memory = '1', evolve = LAST_EVENT }: ViewParts = {}): string {
  return `
    (memory (export "memory") ${memory})
    (global $top (mut i32) (i32.const 4096))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
      (global.get $top) (global.set $top (i32.add (global.get $top) (local.get 3))))
    (func (export "evolve") (param $s i32) (param $sn i32) (param $e i32) (param $en i32) (result i32) ${evolve})
    ${core}`;
}

/** The component that wasm-tools makes of a world: it has all types, imports and exports, and does nothing. */
export async function componentOf(witSource: string, world: string): Promise<Uint8Array> {
  return componentNew(await componentEmbed({ dummy: true, witSource, world }), []);
}
