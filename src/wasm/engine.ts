/**
 * Node's WebAssembly: it validates core modules and runs them. Node's types lack `WebAssembly` (it is in those of the
 * browser, which this repository does not compile with), hence the declarations.
 */

export type CoreValue = number | bigint;
export type CoreFunction = (...values: readonly CoreValue[]) => CoreValue | undefined;
export interface CoreMemory {
  /** Replaced by another buffer each time the memory grows. */
  readonly buffer: ArrayBuffer;
  /** @throws RangeError when the memory may not grow by so many pages. */
  grow(pages: number): number;
}
export interface CoreGlobal {
  value: CoreValue;
}
/** An export of an instance: a function, a memory, a global, or a table, which is passed on unread. */
export type CoreItem = object;
export type CoreExports = Readonly<Record<string, CoreItem>>;
/** A compiled core module. */
export type CoreCode = object & { readonly brand?: 'compiled' };

type Constructor<Made extends object> = new (...values: never[]) => Made;
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => CoreCode;
  readonly Instance: new (code: CoreCode, imports: object) => { readonly exports: CoreExports };
  readonly Memory: Constructor<CoreMemory>;
  readonly Global: Constructor<CoreGlobal>;
  readonly RuntimeError: Constructor<Error>;
  readonly LinkError: Constructor<Error>;
  validate(bytes: Uint8Array): boolean;
};

/** The engine's reason why a core module is invalid: compilation gives one, validation does not. */
export function validityFault(module: Uint8Array): string | undefined {
  if (WebAssembly.validate(module)) return undefined;
  try {
    return `no reason (${typeof new WebAssembly.Module(module)})`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export function compile(module: Uint8Array): CoreCode {
  return new WebAssembly.Module(module);
}

export function instantiateCore(code: CoreCode, imports: object): CoreExports {
  return new WebAssembly.Instance(code, imports).exports;
}

export function isCoreFunction(item: CoreItem | undefined): item is CoreFunction {
  return typeof item === 'function';
}

export function isCoreMemory(item: CoreItem | undefined): item is CoreMemory {
  return item instanceof WebAssembly.Memory;
}

export function isCoreGlobal(item: CoreItem | undefined): item is CoreGlobal {
  return item instanceof WebAssembly.Global;
}

/** Returns true when a guest ended with a trap. */
export function isTrap(error: unknown): error is Error {
  return error instanceof WebAssembly.RuntimeError;
}

/** Returns true when an import did not match its declaration. */
export function isLinkError(error: unknown): error is Error {
  return error instanceof WebAssembly.LinkError;
}
