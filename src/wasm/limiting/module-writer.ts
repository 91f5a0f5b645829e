/** Writes a core module, or a component, anew, section by section: what is not rewritten is copied as it is. */
import { ByteWriter, giveBack } from '#base';
import type { Span } from '../reading/binary-reader.ts';
import { PREAMBLE_BYTES } from '../reading/sections.ts';

/**
 * Room for what is written, which is rarely more than the source and a tenth. Twice as much, if it is, would be copied;
 * of room that is never written to the system has no pages.
 */
const GROWTH = 1.125;
const GROWTH_BYTES = 1024;

export class ModuleWriter {
  readonly #source: Uint8Array;
  readonly #writer: ByteWriter;

  /** Begins with the preamble of the part of the source that is written anew. */
  constructor(source: Uint8Array, { from, to }: Span) {
    this.#source = source;
    this.#writer = new ByteWriter(Math.ceil((to - from) * GROWTH) + GROWTH_BYTES);
    this.copy({ from, to: from + PREAMBLE_BYTES });
  }

  /** Bytes of the source. */
  copy({ from, to }: Span): void {
    this.#writer.slice(this.#source, from, to);
  }

  section(id: number, contents: Uint8Array): void {
    this.#writer.u8(id);
    this.#writer.varint(contents.length);
    this.#writer.bytes(contents);
  }

  /** What was written, without a copy; the writer is not used again. */
  take(): Uint8Array {
    return this.#writer.view();
  }
}

/** Frees what a writer has made, which nobody looks at again: of a large component each step has a copy. */
export function letGo(made: Uint8Array): void {
  giveBack(made, made.buffer.byteLength);
}
