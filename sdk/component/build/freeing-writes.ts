/**
 * A fix for componentize-js 0.23. Its bindings copy the argument of an import into the memory of the component and free
 * it only when the export returns, so a presenter could not write more than its memory. The fixed bindings free the
 * argument of the sink's `write` as soon as the host has it.
 */

const WRITE = 'ret = $import_cairn_component_sink_0_1_0$write(ptr0, len0);';
const FREE = 'if (len0 !== 0) $dealloc(ptr0, len0, 1);';

/** The package does not export it; the library calls it through the same object. */
interface Splicer {
  spliceBindings: (...given: readonly unknown[]) => { readonly jsBindings: string };
}

let corrected: Promise<void> | undefined;

/** Patches the library, once. */
export function freeingWrites(): Promise<void> {
  corrected ??= correct();
  return corrected;
}

async function correct(): Promise<void> {
  const library = import.meta.resolve('@bytecodealliance/componentize-js');
  const path = new URL('../lib/spidermonkey-embedding-splicer.js', library).href;
  const { splicer }: { readonly splicer: Splicer } = await import(path);
  const { spliceBindings } = splicer;
  splicer.spliceBindings = (...given) => {
    const spliced = spliceBindings(...given);
    return { ...spliced, jsBindings: withFree(spliced.jsBindings) };
  };
}

/** @throws Error when the presenter's bindings lack the expected call. */
export function withFree(bindings: string): string {
  if (bindings.includes(WRITE)) return bindings.replace(WRITE, () => `${WRITE} ${FREE}`);
  if (!bindings.includes('$write')) return bindings;
  throw new Error('componentize-js makes other bindings than the release that freeing-writes.ts corrects');
}
