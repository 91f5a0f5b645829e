/**
 * The definitions of a database, read from its history: rows give the position of each definition by its number, and
 * a ledger is built from these records. The machine that applies entries builds its ledger when it is opened. A reader
 * has its own, perhaps in another thread, and adds the new records when the applied row counts more of them.
 *
 *   D24  A reader of definitions returns those of the records up to an applied row: the current one at the time of the
 *        request, or a later one. Reads of one replica never go back.
 */
import type { Revision } from '#base';
import {
  BLOB_PART_BYTES,
  type ComponentKind,
  type ComponentReference,
  type ComponentTitle,
  type DefinedVersion,
  decodeDefinitionEntry,
  decodeDefinitionHead,
  partCountOf,
  type TimedDefinitionEntry,
} from '#model';
import { unexpectedRecord, unexpectedRow } from './corruption.ts';
import { DefinitionLedger } from './definition-ledger.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import { type ControlRecord, isControl } from './record.ts';

/** The definitions that a reader has loaded; valid until the reader waits for something. */
export interface Definitions {
  /** The versions that had been defined at the revision and are not deleted, by kind, name and version. */
  list(revision: Revision, kind?: ComponentKind): readonly DefinedVersion[];
  /** The versions with one name, from the first on. */
  versions(title: ComponentTitle, revision: Revision): readonly DefinedVersion[];
  /** The highest version number, deleted ones included; 0: none. */
  lastVersion(title: ComponentTitle): number;
}

/** An entry that changed a definition, perhaps without the bytes of a part. */
export interface DefinitionChange extends TimedDefinitionEntry {
  /** Revision of the database when the definition changed. */
  readonly revision: Revision;
}

/** The ledger of the first so many definitions, read on this thread. */
export function loadLedger(reader: DatabaseReader, count: number): DefinitionLedger {
  const ledger = new DefinitionLedger();
  for (const position of positionsOf(reader, 0, count)) {
    const change = changeIn(reader, reader.controlAt(position));
    ledger.take(change, change.revision);
  }
  return ledger;
}

/** The definitions with the numbers `(after, to]`. */
export async function definitionsBetween(
  reader: DatabaseReader,
  after: number,
  to: number,
): Promise<readonly DefinitionChange[]> {
  const records = await reader.controlsAt(positionsOf(reader, after, to));
  return records.map((record) => changeIn(reader, record));
}

export class ReadDefinitions {
  readonly #reader: DatabaseReader;
  readonly #ledger = new DefinitionLedger();
  #count = 0;
  #goingOn: Promise<void> | undefined;

  /** `source` is one replica: its rows may grow, but must not become those of another replica. */
  constructor(source: DatabaseSource) {
    this.#reader = new DatabaseReader(source);
  }

  /**
   * The current definitions. A call costs one get, and a read of each definition that was added since the last call.
   * @throws UnexpectedRow when one of them is missing
   */
  async current(): Promise<Definitions> {
    const wanted = this.#reader.applied()?.definitions ?? 0;
    // A concurrent call may load them; the loop then checks again.
    while (this.#count < wanted) {
      this.#goingOn ??= this.#goOn(wanted).finally(() => {
        this.#goingOn = undefined;
      });
      await this.#goingOn;
    }
    return this.#ledger;
  }

  async #goOn(to: number): Promise<void> {
    for (const change of await definitionsBetween(this.#reader, this.#count, to)) {
      this.#ledger.take(change, change.revision);
      this.#count += 1;
    }
  }
}

/** A number that increases with every change of a definition in the rows; 0: no change so far. Costs one get. */
export function lastDefinition(source: DatabaseSource): number {
  return new DatabaseReader(source).applied()?.definitions ?? 0;
}

/**
 * The bytes of a component, read part by part, so that a large one does not delay other reads. Undefined when they are
 * missing or incomplete. The caller checks the digest.
 */
export async function componentBytes(
  source: DatabaseSource,
  component: ComponentReference,
): Promise<Uint8Array | undefined> {
  const reader = new DatabaseReader(source);
  const bytes = new Uint8Array(component.size);
  for (let part = 0, at = 0; part < partCountOf(component); part++, at += BLOB_PART_BYTES) {
    const found = await componentPart(reader, component, part);
    if (found === undefined) return undefined;
    bytes.set(found, at);
  }
  return bytes;
}

/** Undefined when the component was not here, or with another size. */
async function componentPart(
  reader: DatabaseReader,
  { digest, size }: ComponentReference,
  part: number,
): Promise<Uint8Array | undefined> {
  const from = reader.positionIn(reader.keys.componentPart(digest, part));
  if (from === undefined) return undefined;
  const to = reader.applied()?.end ?? 0;
  const { records } = await reader.records({ from, to }, Math.min(size, BLOB_PART_BYTES) + RECORD_HEAD_BYTES);
  const [record] = records;
  const entry = record && isControl(record) ? decodeDefinitionEntry(record.payload)?.entry : undefined;
  if (entry?.kind !== 'part') throw unexpectedRecord(reader.source.group, from, 'it is no part of a component');
  return entry.blob.size === size ? entry.bytes : undefined;
}

/** More than a record with a part has before its bytes. */
const RECORD_HEAD_BYTES = 256;

function positionsOf(reader: DatabaseReader, after: number, to: number): readonly number[] {
  return Array.from({ length: to - after }, (_, at) => {
    const key = reader.keys.definition(after + at + 1);
    const position = reader.positionIn(key);
    if (position === undefined) throw unexpectedRow(key, 'the position of a definition is missing');
    return position;
  });
}

function changeIn(reader: DatabaseReader, { payload, position, revision }: ControlRecord): DefinitionChange {
  const timed = decodeDefinitionHead(payload);
  if (timed === undefined) throw unexpectedRecord(reader.source.group, position, 'it defines nothing');
  return { ...timed, revision };
}
