/**
 * Loads wasm-tools, optionally with rewritten core modules. It is 2.4 MB of compiled Rust code, and its results show
 * whether a rewrite has preserved its behaviour.
 */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FUEL_EXPORT } from '#wasm';

const ROOT = resolve(import.meta.dirname, '../..');
const CORE = 'wasm-tools.core.wasm';
const VENDOR = resolve(
  dirname(createRequire(import.meta.url).resolve('@bytecodealliance/jco-transpile/wasm-tools')),
  '../vendor',
);

/** Import of random numbers, which seed its hash tables; fixed numbers make runs comparable. */
const RANDOM = /^import \{ random \} from .*$/m;
const NOT_RANDOM =
  'const random = { getRandomBytes: (count) => new Uint8Array(Number(count)), getRandomU64: () => 0n };';

export interface OwnTools {
  parse(text: string): Uint8Array;
  /** Fuel counter of the core module; undefined when it is not metered. */
  readonly fuel: { value: bigint } | undefined;
}

interface ToolsModule {
  readonly $init: Promise<void>;
  readonly tools: { parse(text: string): Uint8Array };
}

type Instantiate = (
  module: object,
  imports?: object,
) => Promise<{ readonly exports: Readonly<Record<string, { value: bigint }>> }>;
declare const WebAssembly: { instantiate: Instantiate };

/** Large core modules of real tools, by name. */
export function largeModules(): ReadonlyMap<string, Uint8Array> {
  const names = [CORE, 'js-component-bindgen-component.core.wasm'];
  return new Map(names.map((name) => [name, new Uint8Array(readFileSync(join(VENDOR, name)))]));
}

/** Copies the tools to a new folder below the given one, rewrites their core modules and loads them. */
export async function loadTools(folder: string, rewrite: (module: Uint8Array) => Uint8Array): Promise<OwnTools> {
  cpSync(VENDOR, folder, { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const glue = join(folder, 'wasm-tools.js');
  writeFileSync(glue, readFileSync(glue, 'utf8').replace(RANDOM, NOT_RANDOM));
  writeFileSync(join(folder, CORE), rewrite(new Uint8Array(readFileSync(join(VENDOR, CORE)))));
  let fuel: OwnTools['fuel'];
  const { instantiate } = WebAssembly;
  // The glue code captures this function when it is loaded, and only its call exposes the instance.
  WebAssembly.instantiate = async (module, imports) => {
    const instance = await instantiate(module, imports);
    fuel ??= instance.exports[FUEL_EXPORT];
    return instance;
  };
  try {
    const { $init, tools }: ToolsModule = await import(pathToFileURL(glue).href);
    await $init;
    return { parse: (text) => tools.parse(text), fuel };
  } finally {
    WebAssembly.instantiate = instantiate;
  }
}
