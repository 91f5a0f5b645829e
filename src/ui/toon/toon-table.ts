/**
 * Writes a list of objects as one TOON table: one header, one line per row, also when the rows differ.
 *
 * ```
 *  a column that …                                    is shown as
 *   has texts, numbers or booleans alone               name         absent: null
 *   has objects with the same names in every row       name{a,b}    a column for each of their values
 *   has anything else: lists, null, what is not exact  name_json    a text: the JSON as it is stored; absent: null
 * ```
 * The encoder alone would write differing rows as a nested list, which is longer than JSON. It gets a few rows at a
 * time; the pieces fit together because every row has all columns in the same order. (ADR 0120)
 */
import { encode, escapeString, rawString } from '@toon-format/toon';
import { decodeUtf8 } from '#base';
import type { JsonNode, JsonObject } from '#model';
import type { InTurn } from '../reply-data.ts';
import { exactValue, STRUCTURE_BYTES_MAX, type ToonObject, type ToonValue } from './toon-values.ts';

/** Suffix of a column whose values are JSON texts. */
export const AS_JSON = '_json';

/** Rows encoded in one turn of the event loop, which takes 1 to 2 ms. */
const ROWS_PER_PIECE = 16;
/** Characters of a text escaped in one turn of the event loop. */
const TEXT_PIECE = 64 * 1024;

type Cell = ReturnType<typeof rawString> | ToonValue;
type Row = Readonly<Record<string, Cell>>;

/** A column; with `fields`, a group of columns for the members of its objects. */
interface Column {
  readonly name: string;
  readonly kind: 'plain' | 'group' | 'json';
  readonly fields: readonly Column[];
}

/** Lines of the table. A list without a name is the whole document. */
export async function tableLines(
  name: string | undefined,
  rows: readonly JsonObject[],
  inTurn: InTurn,
): Promise<readonly string[]> {
  const values: ToonRow[] = [];
  for (const piece of pieces(rows)) values.push(...(await inTurn(() => piece.map(toRow))));
  const columns = await inTurn(() => columnsOf(rows, values));
  const lines: string[] = [];
  for (const piece of pieces(rows.map((row, place) => ({ row, values: values[place] ?? NO_VALUES })))) {
    const cells: Row[] = [];
    for (const { row, values: own } of piece) cells.push(await cellsOf(row, own, columns, inTurn));
    const [head = '', ...own] = await inTurn(() => encode(cells).split('\n'));
    if (lines.length === 0) lines.push(headOf(name, rows.length, head));
    lines.push(...own);
  }
  return lines.length > 0 ? lines : [`${keyOf(name)}[]`];
}

/** Turns the header of the first piece into the header of the table. */
function headOf(name: string | undefined, count: number, head: string): string {
  const key = name === undefined ? '' : encode({ [name]: [0] }).replace(/\[1\]: 0$/, '');
  return `${key}${head.replace(/^\[\d+\]/, `[${count}]`)}`;
}

function keyOf(name: string | undefined): string {
  return name === undefined ? '' : `${encode({ [name]: 0 }).replace(/: 0$/, '')}: `;
}

/** Values by column; undefined when TOON has no exact value. */
type ToonRow = ReadonlyMap<string, ToonValue | undefined>;
const NO_VALUES: ToonRow = new Map();

function toRow({ members }: JsonObject): ToonRow {
  return new Map([...members].map(([name, node]) => [name, exactValue(node)]));
}

function columnsOf(rows: readonly JsonObject[], values: readonly ToonRow[]): readonly Column[] {
  const names = new Set(rows.flatMap(({ members }) => [...members.keys()]));
  return [...names].map((name) => columnOf(name, values));
}

function columnOf(name: string, rows: readonly ToonRow[]): Column {
  const present = rows.filter((row) => row.has(name)).map((row) => row.get(name));
  if (present.every(isPlain)) return { name, kind: 'plain', fields: [] };
  const fields = present.length === rows.length ? fieldsOf(present) : undefined;
  return fields === undefined
    ? { name: `${name}${AS_JSON}`, kind: 'json', fields: [] }
    : { name, kind: 'group', fields };
}

/** Whether a value fits in a cell as it is. Null is excluded: it marks an absent member. */
function isPlain(value: ToonValue | undefined): boolean {
  return value !== undefined && value !== null && typeof value !== 'object';
}

/** Columns of objects that all have the same member names, recursively; undefined when they differ. */
function fieldsOf(values: readonly (ToonValue | undefined)[]): readonly Column[] | undefined {
  if (!values.every(isObject)) return undefined;
  const names = Object.keys(values[0] ?? {});
  if (names.length === 0 || !values.every((value) => hasNames(value, names))) return undefined;
  const fields: Column[] = [];
  for (const name of names) {
    const own = values.map((value) => value[name]);
    const below = own.every((value) => value === null || isPlain(value)) ? [] : fieldsOf(own);
    if (below === undefined) return undefined;
    fields.push({ name, kind: below.length === 0 ? 'plain' : 'group', fields: below });
  }
  return fields;
}

function isObject(value: ToonValue | undefined): value is ToonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasNames(value: ToonObject, names: readonly string[]): boolean {
  return Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name));
}

async function cellsOf(row: JsonObject, own: ToonRow, columns: readonly Column[], inTurn: InTurn): Promise<Row> {
  const cells: [name: string, cell: Cell][] = [];
  for (const column of columns) {
    const { name, kind } = column;
    if (kind === 'json') {
      const node = row.members.get(name.slice(0, -AS_JSON.length));
      cells.push([name, node === undefined ? null : await jsonCell(node, inTurn)]);
    } else cells.push([name, inOrder(own.get(name) ?? null, column)]);
  }
  return Object.fromEntries(cells);
}

/** Sorts the members of objects in the order of the columns. */
function inOrder(value: ToonValue, { fields }: Column): ToonValue {
  if (fields.length === 0 || !isObject(value)) return value;
  return Object.fromEntries(fields.map((field) => [field.name, inOrder(value[field.name] ?? null, field)]));
}

/** The JSON of a value as a text. A long text is escaped in pieces. */
export async function jsonCell(node: JsonNode, inTurn: InTurn): Promise<Cell> {
  const text = await inTurn(() => jsonText(node));
  if (text.length <= STRUCTURE_BYTES_MAX) return text;
  let escaped = '';
  for (let at = 0; at < text.length; at += TEXT_PIECE) {
    escaped += await inTurn(() => escapeString(text.slice(at, at + TEXT_PIECE)));
  }
  return inTurn(() => rawString(`"${escaped}"`));
}

/** Payloads are written as they are stored, the rest as the API writes it. */
export function jsonText(node: JsonNode): string {
  switch (node.kind) {
    case 'raw':
      return decodeUtf8(node.bytes, 0, node.bytes.length) ?? '';
    case 'number':
      return node.text;
    case 'string':
    case 'boolean':
      return JSON.stringify(node.value);
    case 'null':
      return 'null';
    case 'array':
      return `[${node.items.map(jsonText).join(',')}]`;
    case 'object':
      return `{${[...node.members].map(([name, value]) => `${JSON.stringify(name)}:${jsonText(value)}`).join(',')}}`;
  }
}

function* pieces<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += ROWS_PER_PIECE) yield items.slice(at, at + ROWS_PER_PIECE);
}
