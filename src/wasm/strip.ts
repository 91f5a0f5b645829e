/**
 * The same component, or core module, without custom sections, at every level. They hold names for debuggers and
 * notes of toolchains; nothing that runs needs them, nobody looks into them, so nobody is handed them.
 */
import type { Span } from './binary-reader.ts';
import { ModuleWriter } from './module-writer.ts';
import { preambleOf, readSections } from './sections.ts';

const CUSTOM = 0;
/** In a component: a core module, a component. */
const NESTED: ReadonlySet<number> = new Set([1, 4]);

export function stripComponent(bytes: Uint8Array): Uint8Array {
  return strip(bytes, { from: 0, to: bytes.length });
}

function strip(bytes: Uint8Array, span: Span): Uint8Array {
  const kind = preambleOf(bytes, span.from) === 'component' ? 'component' : 'module';
  const writer = new ModuleWriter(bytes, span);
  for (const section of readSections(bytes, span, kind)) {
    if (section.id === CUSTOM) continue;
    if (kind === 'component' && NESTED.has(section.id)) writer.section(section.id, strip(bytes, section));
    else writer.copy({ from: section.at, to: section.to });
  }
  return writer.take();
}
