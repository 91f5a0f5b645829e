/**
 * The definitions of a database for whoever reads it, beside the machine that writes them and maybe in another isolate:
 * a ledger of its own, which goes on from where it was whenever the applied row is further.
 *
 *   D24  What a reader is told of definitions is what the records up to an applied row say, of the one at the moment of
 *        the question or a later one; a reader of one copy is never told less than before.
 */
import type { Revision } from '#base';
import {
  type ComponentKind,
  type ComponentReference,
  type ComponentTitle,
  type DefinedVersion,
  partCountOf,
} from '#model';
import { type DefinitionMark, NO_DEFINITIONS } from './applied.ts';
import { unexpectedRow } from './corruption.ts';
import { DefinitionLedger } from './definition-ledger.ts';
import { digestBytes, readComponentPart, readDefinitionRecord } from './definition-record.ts';
import { indexOfDefinition } from './keys.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import { checkLedger, takeRecord } from './stored-definitions.ts';
import { slices } from './walks.ts';

/** What is defined, as far as a reader has come; good until the reader waits for something. */
export interface Definitions {
  /** The versions that had been defined at the revision and are not deleted, by kind, name and version. */
  list(revision: Revision, kind?: ComponentKind): readonly DefinedVersion[];
  /** Those of one name, from the first on. */
  versions(title: ComponentTitle, revision: Revision): readonly DefinedVersion[];
  /** The highest that was ever given, maybe to one that is deleted; 0: none. */
  lastVersion(title: ComponentTitle): number;
}

export class ReadDefinitions {
  readonly #reader: DatabaseReader;
  readonly #ledger: DefinitionLedger;
  #mark: DefinitionMark = NO_DEFINITIONS;
  #goingOn: Promise<void> | undefined;

  /** Of one copy of a database: its rows may grow, and never be those of another copy. */
  constructor(source: DatabaseSource) {
    this.#reader = new DatabaseReader(source);
    this.#ledger = new DefinitionLedger(source.sha256);
  }

  /**
   * What is defined now. Costs a get when nothing was defined since; otherwise a walk over what was.
   * @throws UnexpectedRow when the records do not lead to the applied row
   */
  async current(): Promise<Definitions> {
    const wanted = this.#reader.applied()?.definitions ?? NO_DEFINITIONS;
    // Whoever comes while others are taken in waits for those first: his may be among them.
    while (this.#mark.index < wanted.index) {
      this.#goingOn ??= this.#goOn(wanted).finally(() => {
        this.#goingOn = undefined;
      });
      await this.#goingOn;
    }
    return this.#ledger;
  }

  async #goOn(to: DefinitionMark): Promise<void> {
    const { source, keys } = this.#reader;
    for await (const rows of slices(source.kv.range(keys.definitions(this.#mark.index + 1, to.index + 1)))) {
      for (const { key, value } of rows) this.#take(key, value);
    }
    checkLedger(this.#reader, this.#ledger, to);
  }

  #take(key: Uint8Array, value: Uint8Array): void {
    const record = readDefinitionRecord(key, value, indexOfDefinition(key));
    if (record.before !== this.#mark.index) throw unexpectedRow(key, 'the record before it is missing');
    takeRecord(this.#reader, this.#ledger, record);
    this.#mark = { index: record.place.index, chainHash: record.chainHash };
  }
}

/** A number that is higher whenever something else is defined, as far as the rows go; 0: nothing ever was. A get. */
export function lastDefinition(source: DatabaseSource): number {
  return (new DatabaseReader(source).applied()?.definitions ?? NO_DEFINITIONS).index;
}

/**
 * The bytes of a component, put together part by part, so that a large one does not hold whoever else reads. Undefined
 * when they are not here, or not all of them: the last version that named it was deleted. That they have the digest is
 * for whoever uses them to see.
 * @throws CorruptRecord for a part that is not what was written
 */
export async function componentBytes(
  source: DatabaseSource,
  component: ComponentReference,
): Promise<Uint8Array | undefined> {
  const { digest, size } = component;
  const rows = new DatabaseReader(source).keys.componentParts(digestBytes(digest), partCountOf(component));
  const parts = source.kv.range({ ...rows, chunkBytes: 1, fillCache: false });
  const bytes = new Uint8Array(size);
  let at = 0;
  for await (const slice of slices(parts)) {
    for (const { key, value } of slice) {
      const part = readComponentPart(key, value);
      if (at + part.length > size) return undefined;
      bytes.set(part, at);
      at += part.length;
    }
  }
  return at === size ? bytes : undefined;
}
