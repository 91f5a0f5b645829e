/**
 * The engine's own judgement of a core module. Node has `WebAssembly`, and its types have not: they are the browser's,
 * which this repository does not compile with, hence the declaration.
 */
import { quote } from '#base';
import type { Span } from './binary-reader.ts';
import { Refused } from './refusal.ts';

declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  validate(bytes: Uint8Array): boolean;
};

const SHOWN_LENGTH_MAX = 200;

/** @throws Refused InvalidComponent, in the engine's words. */
export function expectValid(bytes: Uint8Array, { from, to }: Span): void {
  const module = bytes.subarray(from, to);
  if (WebAssembly.validate(module)) return;
  const message = `The core module at ${from} is not valid, says the engine: ${quote(faultOf(module), SHOWN_LENGTH_MAX)}`;
  throw new Refused('InvalidComponent', from, message);
}

/** Validating gives no reason; compiling stops at the same place and does. */
function faultOf(module: Uint8Array): string {
  try {
    return `no reason (${typeof new WebAssembly.Module(module)})`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
