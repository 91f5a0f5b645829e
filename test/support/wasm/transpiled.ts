/** Runs a component with the glue code of the transpiler in the test process, for components in text format only. */
import { transpileBytes } from '@bytecodealliance/jco-transpile';

export type Guest = Readonly<Record<string, (...values: readonly unknown[]) => unknown>>;

declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => CoreInstance;
};

export interface CoreInstance {
  readonly exports: Readonly<Record<string, object>>;
}

/** Its exports and all its core instances. */
export async function transpiled(
  component: Uint8Array,
  imports: object,
): Promise<{ readonly guest: Guest; readonly cores: readonly CoreInstance[] }> {
  const { files } = await transpileBytes(component, {
    name: 'guest',
    instantiation: 'sync',
    wasiShim: false,
    nodejsCompat: false,
    emitTypescriptDeclarations: false,
    base64Cutoff: 0,
  });
  const glue = Buffer.from(files['guest.js'] ?? new Uint8Array(0)).toString('base64');
  const loaded: {
    instantiate(
      core: (name: string) => object,
      imports: object,
      make: (module: object, imports: object) => object,
    ): Guest;
  } = await import(`data:text/javascript;base64,${glue}`);
  const cores: CoreInstance[] = [];
  const guest = loaded.instantiate(
    (name) => new WebAssembly.Module(files[name] ?? new Uint8Array(0)),
    imports,
    (module, given) => {
      const instance = new WebAssembly.Instance(module, given);
      cores.push(instance);
      return instance;
    },
  );
  return { guest, cores };
}
