/**
 * A correction of componentize-js 0.23. Its bindings copy the argument of an import into the memory of the component
 * and free it only when the export returns, so a presenter could write no more than it has memory. The corrected
 * bindings free what `write` of the sink was given as soon as the host has it.
 */

const WRITE = 'ret = $import_cairn_component_sink_0_1_0$write(ptr0, len0);';
const FREE = 'if (len0 !== 0) $dealloc(ptr0, len0, 1);';

/** Not among the exports of the package; the library calls it through the same object. */
interface Splicer {
  spliceBindings: (...given: readonly unknown[]) => { readonly jsBindings: string };
}

let corrected: Promise<void> | undefined;

/** Corrects the library, once. */
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

/** @throws Error when the bindings of a presenter are not those that this corrects */
export function withFree(bindings: string): string {
  if (bindings.includes(WRITE)) return bindings.replace(WRITE, () => `${WRITE} ${FREE}`);
  if (!bindings.includes('$write')) return bindings;
  throw new Error('componentize-js makes other bindings than the release that freeing-writes.ts corrects');
}
