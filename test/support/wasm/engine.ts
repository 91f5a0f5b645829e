/** Types and helpers for the WebAssembly API of Node.js, whose standard types are in the DOM library. */

/** Exports of a core module: functions of numbers, and globals. */
export type CoreExports = Readonly<Record<string, CoreFunction & CoreGlobal>>;
export type CoreFunction = (...values: readonly (number | bigint)[]) => number | bigint | undefined;
export interface CoreGlobal {
  value: bigint;
}

declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: CoreExports };
  validate(bytes: Uint8Array): boolean;
};

export function isValid(module: Uint8Array): boolean {
  return WebAssembly.validate(module);
}

export function instantiate(module: Uint8Array, imports: object = {}): CoreExports {
  return new WebAssembly.Instance(new WebAssembly.Module(module), imports).exports;
}
