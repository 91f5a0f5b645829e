/** Core modules in text format, with the memory cap and the fuel meter of publishing. */
import type { Result } from '#base';
import { cap, FUEL_EXPORT, type Growth, meter, type Refusal } from '#wasm';
import { type CoreExports, type CoreFunction, instantiate } from './engine.ts';
import { wat } from './wat.ts';

const GROWTH: Growth = { memoryPages: 8, tableElements: 100 };

export async function capped(fields: string, growth: Growth = GROWTH): Promise<Uint8Array> {
  return valueOf(cap(await wat(`(module ${fields})`), growth));
}

export async function metered(fields: string): Promise<Uint8Array> {
  return valueOf(meter(await capped(fields)));
}

/** An instance of a metered module with this amount of fuel. */
export async function withFuel(fields: string, fuel: bigint): Promise<CoreExports> {
  const exports = instantiate(await metered(fields));
  counterOf(exports).value = fuel;
  return exports;
}

export function fuelOf(exports: CoreExports): bigint {
  return counterOf(exports).value;
}

export function functionOf(exports: CoreExports, name: string): CoreFunction {
  const found = exports[name];
  if (found === undefined) throw new Error(`The module does not export ${name}`);
  return found;
}

export function valueOf<Value>(result: Result<Value, Refusal>): Value {
  if (result.kind === 'failure') throw new Error(`${result.reason.code}: ${result.reason.message}`);
  return result.value;
}

function counterOf(exports: CoreExports): { value: bigint } {
  const counter = exports[FUEL_EXPORT];
  if (counter === undefined) throw new Error('The module has no counter');
  return counter;
}
