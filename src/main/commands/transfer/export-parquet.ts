/**
 * The file of an export in Parquet: an event per row, in row groups that bound the memory of the command. Its footer is
 * written last, so the file gets its name when it is complete.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { parseInstant, quote } from '#base';
import { isJsonType, type JsonNode, parseJson, writeJson } from '#model';
import { refused } from '../../process/refusals.ts';
import type { EventLine } from './event-lines.ts';
import type { ExportTarget } from './export-file.ts';

type Members = ReadonlyMap<string, JsonNode>;
type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];
type Value = bigint | number | string | Uint8Array | undefined;

interface Column {
  readonly name: string;
  readonly type: Pick<SchemaElement, 'type' | 'converted_type' | 'logical_type'>;
  readonly isOptional?: boolean;
  readonly valueOf: (event: Members, name: string) => Value;
}

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
const TIME = {
  type: 'INT64',
  converted_type: 'TIMESTAMP_MICROS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
} as const;

/** Attributes have their names of JSON. A payload is either JSON or text, or other bytes. */
const COLUMNS: readonly Column[] = [
  { name: 'revision', type: { type: 'INT64' }, valueOf: (event, name) => BigInt(countIn(event, name)) },
  { name: 'index', type: { type: 'INT32' }, valueOf: countIn },
  { name: 'recordedtime', type: TIME, valueOf: microsIn },
  { name: 'id', type: TEXT, valueOf: textIn },
  { name: 'source', type: TEXT, valueOf: textIn },
  { name: 'type', type: TEXT, valueOf: textIn },
  { name: 'subject', type: TEXT, isOptional: true, valueOf: textIn },
  { name: 'time', type: TIME, isOptional: true, valueOf: microsIn },
  { name: 'datacontenttype', type: TEXT, isOptional: true, valueOf: textIn },
  { name: 'dataschema', type: TEXT, isOptional: true, valueOf: textIn },
  { name: 'data', type: TEXT, isOptional: true, valueOf: payloadOf },
  { name: 'data_bytes', type: { type: 'BYTE_ARRAY' }, isOptional: true, valueOf: binaryOf },
  { name: 'extensions', type: TEXT, isOptional: true, valueOf: extensionsOf },
];
/** The last column is no attribute. */
const NO_EXTENSIONS = new Set(['specversion', 'data_base64', ...COLUMNS.slice(0, -1).map(({ name }) => name)]);

const SCHEMA: SchemaElement[] = [
  { name: 'events', num_children: COLUMNS.length },
  ...COLUMNS.map(
    ({ name, type, isOptional = false }): SchemaElement => ({
      name,
      ...type,
      repetition_type: isOptional ? 'OPTIONAL' : 'REQUIRED',
    }),
  ),
];

/** Memory of a row group, before it is compressed. */
const GROUP_BYTES = 64 * 1024 * 1024;
/** Memory of a value beside its bytes. */
const VALUE_BYTES = 64;

interface ParquetPlaces {
  readonly path: string;
  /** Its name until it is complete. */
  readonly partial: string;
  readonly groupBytes: number;
}

export class ParquetFile implements ExportTarget {
  readonly #file: FileHandle;
  readonly #places: ParquetPlaces;
  readonly #writer = new ByteWriter();
  readonly #parquet: ParquetWriter = new ParquetWriter({ writer: this.#writer, schema: SCHEMA });
  #rows: (readonly Value[])[] = [];
  #bytes = 0;

  /** @throws DatabaseError: the file exists */
  static async create(path: string, groupBytes: number = GROUP_BYTES): Promise<ParquetFile> {
    if (existsSync(path)) throw refused(`${path} exists; name another file`);
    const partial = `${path}.partial-${randomUUID()}`;
    return new ParquetFile(await open(partial, 'wx'), { path, partial, groupBytes });
  }

  private constructor(file: FileHandle, places: ParquetPlaces) {
    this.#file = file;
    this.#places = places;
  }

  async append(lines: readonly EventLine[]): Promise<void> {
    for (const { event } of lines) {
      const row = COLUMNS.map(({ name, valueOf }) => valueOf(event.members, name));
      this.#rows.push(row);
      for (const value of row) this.#bytes += VALUE_BYTES + lengthOf(value);
    }
    if (this.#bytes >= this.#places.groupBytes) await this.#writeGroup();
  }

  async finish(): Promise<void> {
    await this.#writeGroup();
    await this.#parquet.finish();
    await this.#flush();
    await this.#file.sync();
    await rename(this.#places.partial, this.#places.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
    await rm(this.#places.partial, { force: true });
  }

  async #writeGroup(): Promise<void> {
    const rows = this.#rows;
    if (rows.length === 0) return;
    const columnData = COLUMNS.map(({ name }, column) => ({ name, data: rows.map((row) => row[column]) }));
    await this.#parquet.write({ columnData, rowGroupSize: rows.length });
    [this.#rows, this.#bytes] = [[], 0];
    await this.#flush();
  }

  async #flush(): Promise<void> {
    await this.#file.appendFile(this.#writer.getBytes());
    this.#writer.index = 0;
  }
}

function lengthOf(value: Value): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;
}

function countIn(event: Members, name: string): number {
  const node = event.get(name);
  return node?.kind === 'number' ? Number(node.text) : 0;
}

function textIn(event: Members, name: string): string | undefined {
  const node = event.get(name);
  return node?.kind === 'string' ? node.value : undefined;
}

/** Microseconds since 1970, rounded down. */
function microsIn(event: Members, name: string): bigint | undefined {
  const text = textIn(event, name);
  if (text === undefined) return undefined;
  const instant = parseInstant(text);
  if (instant === undefined) throw refused(`${name} of an event is ${quote(text)}, which is no time`);
  return BigInt(instant.seconds) * 1_000_000n + BigInt(Math.floor(instant.nanos / 1_000));
}

/** JSON as it was written; the text itself, if the content type is another one. */
function payloadOf(event: Members): Uint8Array | undefined {
  const data = event.get('data');
  if (data?.kind !== 'raw') return undefined;
  const type = textIn(event, 'datacontenttype');
  const text = type === undefined || isJsonType(type) ? undefined : parseJson(data.bytes);
  return text?.kind === 'string' ? Buffer.from(text.value) : data.bytes;
}

function binaryOf(event: Members): Uint8Array | undefined {
  const text = textIn(event, 'data_base64');
  return text === undefined ? undefined : Buffer.from(text, 'base64');
}

function extensionsOf(event: Members): string | undefined {
  const members = new Map([...event].filter(([name]) => !NO_EXTENSIONS.has(name)));
  return members.size === 0 ? undefined : writeJson({ kind: 'object', members });
}
