/** Builds a component from a core module that a compiler made with wit-bindgen bindings, in Rust or C. */
import { componentNew } from '@bytecodealliance/jco-transpile/wasm-tools';

const MAGIC = [0x00, 0x61, 0x73, 0x6d];
const CORE = [0x01, 0x00, 0x00, 0x00];

/**
 * The component of a core module that contains the types of its world, as wit-bindgen leaves them.
 *
 * @throws Error for any other module.
 */
export async function componentOfModule(bytes: Uint8Array): Promise<Uint8Array> {
  if (!begins(bytes, MAGIC)) throw new TypeError('it is no WebAssembly; give the module that the compiler made');
  if (!begins(bytes.subarray(MAGIC.length), CORE))
    throw new TypeError('it is a component already; publish it as it is');
  if (!hasWorld(bytes)) throw new TypeError('it says nothing of its world; make its bindings by wit-bindgen');
  return componentNew(bytes, []);
}

function begins(bytes: Uint8Array, start: readonly number[]): boolean {
  return start.every((byte, at) => bytes[at] === byte);
}

/** The types are in custom sections whose names begin with this. */
function hasWorld(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('component-type');
}
