/** A component as the transpiler makes it run: of our own texts, for no other glue is loaded in a test's process. */
import { transpileBytes } from '@bytecodealliance/jco-transpile';

export type Guest = Readonly<Record<string, (...values: readonly unknown[]) => unknown>>;

declare const WebAssembly: { readonly Module: new (bytes: Uint8Array) => object };

export async function transpiled(component: Uint8Array, imports: object): Promise<Guest> {
  const { files } = await transpileBytes(component, {
    name: 'guest',
    instantiation: 'sync',
    wasiShim: false,
    nodejsCompat: false,
    emitTypescriptDeclarations: false,
    base64Cutoff: 0,
  });
  const glue = Buffer.from(files['guest.js'] ?? new Uint8Array(0)).toString('base64');
  const loaded: { instantiate(core: (name: string) => object, imports: object): Guest } = await import(
    `data:text/javascript;base64,${glue}`
  );
  return loaded.instantiate((name) => new WebAssembly.Module(files[name] ?? new Uint8Array(0)), imports);
}
