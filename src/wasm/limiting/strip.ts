/**
 * Rewrites a component: removes custom sections at every level, and replaces its core modules.
 *
 * Custom sections hold debug names and notes of toolchains; nothing that runs needs them.
 */
import type { Span } from '../reading/binary-reader.ts';
import { readSections } from '../reading/sections.ts';
import { freeMemoryOf, ModuleWriter } from './module-writer.ts';

const CUSTOM = 0;
const CORE_MODULE = 1;
const COMPONENT = 4;

type Rewrite = (module: Uint8Array) => Uint8Array;

/** The component with each core module replaced by the result of `rewrite`. */
export function rewriteModules(bytes: Uint8Array, rewrite: Rewrite): Uint8Array {
  return rewritten(bytes, { from: 0, to: bytes.length }, rewrite);
}

function rewritten(bytes: Uint8Array, span: Span, rewrite: Rewrite): Uint8Array {
  const writer = new ModuleWriter(bytes, span);
  for (const section of readSections(bytes, span, 'component')) {
    if (section.id === CUSTOM) continue;
    if (section.id === CORE_MODULE) put(rewrite(bytes.subarray(section.from, section.to)));
    else if (section.id === COMPONENT) put(rewritten(bytes, section, rewrite));
    else writer.copy({ from: section.at, to: section.to });

    function put(made: Uint8Array): void {
      writer.section(section.id, made);
      if (made.buffer !== bytes.buffer) freeMemoryOf(made);
    }
  }
  return writer.take();
}
