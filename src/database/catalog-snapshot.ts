/**
 * The whole catalog, from one replica to another: its rows, as they are stored.
 *
 * ```
 * part := (varint length, key after `01 g`, varint length, value)*
 * ```
 * It is small, so it is sent from its beginning each time, and installed when it is complete (D16).
 */
import { assert, ByteReader, ByteWriter, messageOf, NO_BYTES, toHex } from '#base';
import type { HistoryReader, KvRange, KvReader } from '#kv';
import type { GroupMark } from './applied-state.ts';
import { CatalogMachine } from './catalog-machine.ts';
import { readCatalogApplied } from './catalog-rows.ts';
import { unexpectedRow } from './corruption.ts';
import type { HistoryPart } from './history-transfer.ts';
import { RowKeys } from './keys.ts';
import type { DatabaseSource } from './reader.ts';
import type { LogPlace } from './record.ts';
import { slices } from './walks.ts';

/** A catalog of a million databases has about so much. */
const CATALOG_BYTES_MAX = 256 * 2 ** 20;
const GROUP_PREFIX_BYTES = 5;

interface Row {
  readonly tail: Uint8Array;
  readonly value: Uint8Array;
}

export class CatalogExport {
  readonly group: GroupMark;
  readonly #last: LogPlace;
  #rows: readonly Row[];

  /** The rows as they are now: one walk sees one state. */
  static async open({ kv, group }: DatabaseSource): Promise<CatalogExport> {
    const keys = new RowKeys(group);
    const rows: Row[] = [];
    let applied: Uint8Array | undefined;
    for await (const slice of slices(kv.range(keys.all()))) {
      for (const { key, value } of slice) {
        if (toHex(key) === toHex(keys.applied())) applied = value;
        rows.push({ tail: key.subarray(GROUP_PREFIX_BYTES), value });
      }
    }
    if (applied === undefined) throw unexpectedRow(keys.applied(), 'the applied row is missing');
    const { index, term, group: members } = readCatalogApplied(keys.applied(), applied);
    return new CatalogExport(rows, { index, term }, members);
  }

  private constructor(rows: readonly Row[], last: LogPlace, group: GroupMark) {
    this.#rows = rows;
    this.#last = last;
    this.group = group;
  }

  next(bytesMax: number): HistoryPart {
    const writer = new ByteWriter(bytesMax);
    let taken = 0;
    for (const { tail, value } of this.#rows) {
      if (taken > 0 && writer.length + tail.length + value.length > bytesMax) break;
      for (const bytes of [tail, value]) {
        writer.varint(bytes.length);
        writer.bytes(bytes);
      }
      taken += 1;
    }
    this.#rows = this.#rows.slice(taken);
    return { data: writer.take(), last: this.#last, isLast: this.#rows.length === 0 };
  }
}

/** Collects the parts. Returns faults as text, for any bytes. */
export class CatalogImport {
  readonly #source: DatabaseSource;
  readonly #rows = new Map<string, Uint8Array>();
  #bytes = 0;

  constructor(source: DatabaseSource) {
    this.#source = source;
  }

  /** Takes the next part. */
  take(part: Uint8Array): string | undefined {
    const reader = new ByteReader(part);
    while (reader.left > 0 && !reader.failed) {
      const tail = reader.bytes(reader.varint());
      const value = reader.bytes(reader.varint());
      this.#rows.set(toHex(tail), value);
      this.#bytes += tail.length + value.length;
    }
    if (reader.failed) return 'it ends inside a row';
    return this.#bytes > CATALOG_BYTES_MAX ? `a catalog has ${CATALOG_BYTES_MAX} bytes at most` : undefined;
  }

  /** The catalog that all parts make up. */
  finish({ index, term }: LogPlace): CatalogMachine | string {
    try {
      const kv = new RowsOfGroup(this.#rows);
      const catalog = CatalogMachine.open({ ...this.#source, kv }, NO_BYTES);
      const { applied } = catalog;
      if (applied.index === index && applied.term === term) return catalog;
      return `it stands at entry ${applied.index} of term ${applied.term}, not at ${index} of term ${term}`;
    } catch (error) {
      return messageOf(error);
    }
  }
}

class RowsOfGroup implements KvReader {
  readonly #rows: ReadonlyMap<string, Uint8Array>;

  constructor(rows: ReadonlyMap<string, Uint8Array>) {
    this.#rows = rows;
  }

  get history(): HistoryReader {
    throw new Error('The catalog has no history');
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#rows.get(toHex(key.subarray(GROUP_PREFIX_BYTES)));
  }

  range(): KvRange {
    assert(false, 'The rows of the catalog are read by gets');
    throw new Error('The rows of the catalog are read by gets');
  }

  release(): void {
    // They are kept as long as the parts.
  }
}
