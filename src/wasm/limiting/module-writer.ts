/** Rewrites a core module or a component section by section: unchanged sections are copied as they are. */
import { ByteWriter, giveBack } from '#base';
import type { Span } from '../reading/binary-reader.ts';
import { PREAMBLE_BYTES } from '../reading/sections.ts';

/**
 * Initial capacity: the output is rarely more than a tenth larger than the source. A writer that grows copies its
 * bytes, while pages that are never written take no memory.
 */
const GROWTH = 1.125;
const GROWTH_BYTES = 1024;

export class ModuleWriter {
  readonly #source: Uint8Array;
  readonly #writer: ByteWriter;

  /** Begins with the preamble of the part of the source that is rewritten. */
  constructor(source: Uint8Array, { from, to }: Span) {
    this.#source = source;
    this.#writer = new ByteWriter(Math.ceil((to - from) * GROWTH) + GROWTH_BYTES);
    this.copy({ from, to: from + PREAMBLE_BYTES });
  }

  /** Copies bytes of the source. */
  copy({ from, to }: Span): void {
    this.#writer.slice(this.#source, from, to);
  }

  section(id: number, contents: Uint8Array): void {
    this.#writer.u8(id);
    this.#writer.varint(contents.length);
    this.#writer.bytes(contents);
  }

  /** Returns the output without a copy; do not use the writer again. */
  take(): Uint8Array {
    return this.#writer.view();
  }
}

/** Frees the output of a writer: each step of publishing makes a copy of a large component. */
export function freeMemoryOf(made: Uint8Array): void {
  giveBack(made, made.buffer.byteLength);
}
