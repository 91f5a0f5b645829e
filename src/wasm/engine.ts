/**
 * Node's WebAssembly: the engine's own judgement of a core module, and what runs it. Node has `WebAssembly`, and its
 * types have not: they are the browser's, which this repository does not compile with, hence the declarations.
 */

export type CoreValue = number | bigint;
export type CoreFunction = (...values: readonly CoreValue[]) => CoreValue | undefined;
export interface CoreMemory {
  /** Another one each time that the memory has grown. */
  readonly buffer: ArrayBuffer;
  /** @throws RangeError when it may not have so many pages more. */
  grow(pages: number): number;
}
export interface CoreGlobal {
  value: CoreValue;
}
/** What an instance exports: a function, a memory, a global, or a table, which is handed on unseen. */
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

/** Why a core module is not valid, in the engine's words: compilation gives a reason, and validation none. */
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

/** Whether code of a guest ended by a trap. */
export function isTrap(error: unknown): error is Error {
  return error instanceof WebAssembly.RuntimeError;
}

/** Whether an import was not what a module asks for. */
export function isLinkError(error: unknown): error is Error {
  return error instanceof WebAssembly.LinkError;
}
