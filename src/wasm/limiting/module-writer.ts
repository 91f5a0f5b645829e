/** Writes a core module, or a component, anew, section by section: what is not rewritten is copied as it is. */
import { ByteWriter } from '#base';
import type { Span } from '../reading/binary-reader.ts';
import { PREAMBLE_BYTES } from '../reading/sections.ts';

export class ModuleWriter {
  readonly #source: Uint8Array;
  readonly #writer: ByteWriter;

  /** Begins with the preamble of the part of the source that is written anew. */
  constructor(source: Uint8Array, { from, to }: Span) {
    this.#source = source;
    this.#writer = new ByteWriter(to - from);
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

  take(): Uint8Array {
    return this.#writer.take();
  }
}
