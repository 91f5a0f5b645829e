/**
 * What LevelDB says of itself: CURRENT names the MANIFEST, and that one says which tables are live and which logs are
 * still needed.
 *
 * It is looked at before LevelDB opens, because what LevelDB does about a loss here cannot be taken back: without
 * CURRENT it makes a new, empty store and deletes every table; with a MANIFEST that was cut off it goes back to an
 * older state and deletes what that does not know; a log that is not there is not missed.
 *
 *   W18  A store is opened only when CURRENT, the MANIFEST, every table that it calls live and the first log that it
 *        needs are there.
 *
 * A MANIFEST is a log (level-log-reader.ts) of edits, each a row of fields: a tag, then varints or bytes by their
 * length. LevelDB begins a new one only when it opens, so it grows for as long as a node runs: it is read once, and
 * then on.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ByteReader, quote } from '#base';
import { RESTORE_HINT, StorageFailure } from './basis/storage-failure.ts';
import { LevelLogReader } from './level-log-reader.ts';

export interface LiveTable {
  /** In its name. No number is used twice. */
  readonly number: number;
  readonly bytes: number;
  /** Compactions take tables of a level and of the next one. */
  readonly level: number;
}

export interface LevelManifest {
  readonly path: string;
  readonly tables: readonly LiveTable[];
  /** The first log whose rows are in no table; 0 in a store that was never opened. */
  readonly logNumber: number;
}

const COMPARATOR = 1;
const LOG_NUMBER = 2;
const NEXT_FILE_NUMBER = 3;
const LAST_SEQUENCE = 4;
const COMPACT_POINTER = 5;
const DELETED_FILE = 6;
const NEW_FILE = 7;
const PREVIOUS_LOG_NUMBER = 9;

const MANIFEST_NAME = /^MANIFEST-\d+$/;
/** Files that a store has only after its CURRENT was made: a store dies before that with its first MANIFEST at most. */
const LATER_FILE = /^(?:\d+\.(?:ldb|sst|log)|MANIFEST-(?!0*1$)\d+)$/;
const NAME_DIGITS = 6;

const HINT =
  'LevelDB would have opened what is left and deleted the files that it no longer knew. Copy the data directory as it ' +
  `is. ${RESTORE_HINT}`;

/** The name of a table. */
export function tableName(number: number): string {
  return `${String(number).padStart(NAME_DIGITS, '0')}.ldb`;
}

/** What is live in the store of a directory, while LevelDB has it open or before. */
export class ManifestReader {
  readonly #directory: string;
  #log: LevelLogReader | undefined;
  #tables = new Map<number, LiveTable>();
  #logNumber: number | undefined;
  #manifest: LevelManifest | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * What is live by now; undefined where there is no store yet, and the same object while nothing has changed.
   * @throws StorageFailure `corrupt` when CURRENT or the MANIFEST is missing or broken.
   */
  readOn(): LevelManifest | undefined {
    const path = manifestPath(this.#directory);
    if (path === undefined) return undefined;
    const log = this.#log?.path === path ? this.#log : this.#begin(path);
    let editCount = 0;
    const damage = log.readOn((edit) => {
      this.#readEdit(path, edit);
      editCount += 1;
    });
    if (damage !== undefined) {
      throw damaged(path, `at offset ${damage.offset}, ${damage.found}`, damage.offset);
    }
    if (this.#logNumber === undefined) throw damaged(path, 'it does not say which log is the first');
    if (this.#manifest === undefined || editCount > 0) {
      this.#manifest = { path, tables: [...this.#tables.values()], logNumber: this.#logNumber };
    }
    return this.#manifest;
  }

  #begin(path: string): LevelLogReader {
    this.#log = new LevelLogReader(path);
    this.#tables = new Map();
    this.#logNumber = undefined;
    this.#manifest = undefined;
    return this.#log;
  }

  #readEdit(path: string, edit: Uint8Array): void {
    const reader = new ByteReader(edit);
    while (reader.left > 0 && !reader.failed) {
      this.#logNumber = readField(reader, this.#tables) ?? this.#logNumber;
    }
    if (reader.failed) throw damaged(path, 'one of its edits cannot be read');
  }
}

/** @throws StorageFailure `corrupt` when something that the MANIFEST calls live is not there (W18). */
export function checkFiles(directory: string, { path, tables, logNumber }: LevelManifest): void {
  for (const { number } of tables) {
    const table = join(directory, tableName(number));
    if (!existsSync(table)) throw missingTable(table, path);
  }
  const log = join(directory, `${String(logNumber).padStart(NAME_DIGITS, '0')}.log`);
  if (logNumber !== 0 && !existsSync(log)) throw damaged(log, `it is missing, and by ${path} it is needed`);
}

function missingTable(table: string, manifest: string): StorageFailure {
  return damaged(table, `it is missing, and ${manifest} calls it live`);
}

/** The MANIFEST that CURRENT names, if there is a store. */
function manifestPath(directory: string): string | undefined {
  const current = join(directory, 'CURRENT');
  if (!existsSync(current)) {
    refuseLeftovers(directory, current);
    return undefined;
  }
  const name = readFileSync(current, 'utf8').replace(/\n$/, '');
  if (!MANIFEST_NAME.test(name)) throw damaged(current, `it names ${quote(name)} and no MANIFEST`);
  const path = join(directory, name);
  if (!existsSync(path)) throw damaged(path, 'CURRENT names it and it is not there');
  return path;
}

function refuseLeftovers(directory: string, current: string): void {
  if (!existsSync(directory)) return;
  const left = readdirSync(directory).find((name) => LATER_FILE.test(name));
  if (left !== undefined) throw damaged(current, `it is missing, though the store has files such as ${left}`);
}

/** The log number, where the field is one. */
function readField(reader: ByteReader, tables: Map<number, LiveTable>): number | undefined {
  const tag = reader.varint();
  switch (tag) {
    case LOG_NUMBER:
      return reader.varint();
    case NEXT_FILE_NUMBER:
    case LAST_SEQUENCE:
    case PREVIOUS_LOG_NUMBER:
      reader.varint();
      return undefined;
    case COMPARATOR:
      reader.skip(reader.varint());
      return undefined;
    case COMPACT_POINTER:
      reader.varint();
      reader.skip(reader.varint());
      return undefined;
    case DELETED_FILE:
      reader.varint();
      tables.delete(reader.varint());
      return undefined;
    case NEW_FILE:
      readNewFile(reader, tables);
      return undefined;
    default:
      // An unknown tag has an unknown length: nothing behind it can be read.
      reader.skip(Number.POSITIVE_INFINITY);
      return undefined;
  }
}

/** Its level, number and size, and its first and last key. */
function readNewFile(reader: ByteReader, tables: Map<number, LiveTable>): void {
  const level = reader.varint();
  const number = reader.varint();
  tables.set(number, { number, bytes: reader.varint(), level });
  reader.skip(reader.varint());
  reader.skip(reader.varint());
}

function damaged(path: string, found: string, offset?: number): StorageFailure {
  const place = offset === undefined ? { path } : { path, offset };
  return new StorageFailure('corrupt', `${path} is damaged: ${found}. ${HINT}`, place);
}
