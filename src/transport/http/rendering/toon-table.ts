/**
 * A list of objects as a table of TOON: one header, one line a row, whatever the rows have in common.
 *
 * ```
 *  a column that …                                    is shown as
 *   has texts, numbers or booleans alone               name         absent: null
 *   has objects with the same names in every row       name{a,b}    a column for each of their values
 *   has anything else: lists, null, what is not exact  name_json    a text: the JSON as it is stored; absent: null
 * ```
 * The encoder alone would write rows that differ as a nested list, which takes more room than JSON does. It sees a few
 * rows at a time, and what it writes of them fits together because every row has all columns in one order. (ADR 0120)
 */
import { encode, escapeString, rawString } from '@toon-format/toon';
import { decodeUtf8 } from '#base';
import type { JsonNode, JsonObject } from '#model';
import { exactValue, STRUCTURE_BYTES_MAX, type ToonObject, type ToonValue } from './toon-values.ts';

/** Does a piece of work when it is its turn. */
export type InTurn = <Result>(work: () => Result) => Promise<Result>;

/** Behind the name of what is shown as the text of its JSON. */
export const AS_JSON = '_json';

/** Rows that are encoded in one go: a millisecond or two. */
const ROWS_PER_PIECE = 16;
/** Characters of a text that are escaped in one go. */
const TEXT_PIECE = 64 * 1024;

type Cell = ReturnType<typeof rawString> | ToonValue;
type Row = Readonly<Record<string, Cell>>;

/** One column, or with `fields` those of the objects in it. */
interface Column {
  readonly name: string;
  readonly kind: 'plain' | 'group' | 'json';
  readonly fields: readonly Column[];
}

/** The lines of the table, below its name; without one the list is all there is. */
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
    for (const { row, values: own } of piece) cells.push(await cellsOf({ row, own, columns }, inTurn));
    const [head = '', ...own] = await inTurn(() => encode(cells).split('\n'));
    if (lines.length === 0) lines.push(headOf(name, rows.length, head));
    lines.push(...own);
  }
  return lines.length > 0 ? lines : [`${keyOf(name)}[]`];
}

/** The header of the first piece, as that of all. */
function headOf(name: string | undefined, count: number, head: string): string {
  const key = name === undefined ? '' : encode({ [name]: [0] }).replace(/\[1\]: 0$/, '');
  return `${key}${head.replace(/^\[\d+\]/, `[${count}]`)}`;
}

function keyOf(name: string | undefined): string {
  return name === undefined ? '' : `${encode({ [name]: 0 }).replace(/: 0$/, '')}: `;
}

/** Undefined: not exact. */
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

/** A cell of its own. Null is how a row says that it has no such member. */
function isPlain(value: ToonValue | undefined): boolean {
  return value !== undefined && value !== null && typeof value !== 'object';
}

/** The columns of objects that all have the same names, and below each of them values or such objects. */
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

interface RowOfColumns {
  readonly row: JsonObject;
  readonly own: ToonRow;
  readonly columns: readonly Column[];
}

async function cellsOf({ row, own, columns }: RowOfColumns, inTurn: InTurn): Promise<Row> {
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

/** The value with the names of its objects in the order of the columns. */
function inOrder(value: ToonValue, { fields }: Column): ToonValue {
  if (fields.length === 0 || !isObject(value)) return value;
  return Object.fromEntries(fields.map((field) => [field.name, inOrder(value[field.name] ?? null, field)]));
}

/** The JSON of a value as a text, which is escaped in pieces when it is long. */
export async function jsonCell(node: JsonNode, inTurn: InTurn): Promise<Cell> {
  const text = await inTurn(() => jsonText(node));
  if (text.length <= STRUCTURE_BYTES_MAX) return text;
  let escaped = '';
  for (let at = 0; at < text.length; at += TEXT_PIECE) {
    escaped += await inTurn(() => escapeString(text.slice(at, at + TEXT_PIECE)));
  }
  return inTurn(() => rawString(`"${escaped}"`));
}

/** Payloads as they are stored, the rest as the API writes it. */
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
