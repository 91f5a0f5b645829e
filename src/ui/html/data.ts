/** Draws the data of a reply: members as a list of terms, a list as a table. */
import type { JsonNode, JsonObject } from '#model';
import type { Description, RowView } from '../description.ts';
import { type InTurn, parseMembers, parseOwnJson, type ReplyData } from '../reply-data.ts';
import { html, type Markup, NOTHING } from './markup.ts';
import { type LongPayloads, longPayloads, NO_LONG_PAYLOADS, valueMarkup } from './values.ts';

/** Rows drawn in one turn of the event loop. */
const ROWS_PER_PIECE = 16;

type Members = ReadonlyMap<string, JsonNode>;

export async function dataMarkup(body: ReplyData, description: Description, inTurn: InTurn): Promise<Markup> {
  const { first, list, last } = body;
  if (list === undefined) {
    const members = await inTurn(() => parseMembers(first));
    const long = await longPayloads(members.values(), inTurn);
    return inTurn(() => membersMarkup(members, { long, ...description }));
  }
  const { rows: view = PLAIN } = description;
  const items: JsonNode[] = [];
  for (const text of list.items.texts()) items.push(await inTurn(() => parseOwnJson(text)));
  const table = await listMarkup(list.name ?? 'items', items, view, inTurn);
  const [before, behind] = await inTurn(() =>
    [first, last].map((text) =>
      membersMarkup(new Map([...parseMembers(text)].filter(([name]) => !SAID_ELSEWHERE.has(name)))),
    ),
  );
  return html`${before}${table}${behind}`;
}

const PLAIN: RowView = { linksOf: () => ({}) };

/** Members that the heading and the links of the page have already. */
const SAID_ELSEWHERE = new Set(['database', 'revision', 'has_more', 'next', 'next_cursor']);

interface MemberViews extends Pick<Description, 'memberRows' | 'texts'> {
  readonly long?: LongPayloads;
}

export function membersMarkup(members: Members, views: MemberViews = {}): Markup {
  if (members.size === 0) return NOTHING;
  const terms = [...members].map(
    ([name, node]) => html`<div><dt>${words(name)}</dt><dd>${memberMarkup(name, node, views)}</dd></div>`,
  );
  return html`<dl class="members">${terms}</dl>`;
}

function memberMarkup(name: string, node: JsonNode, views: MemberViews): Markup {
  const { long = NO_LONG_PAYLOADS, memberRows = {}, texts = {} } = views;
  const text = texts[name];
  if (node.kind === 'string' && text !== undefined) return linesMarkup(node.value, text);
  if (node.kind !== 'array') return valueMarkup(node, 'page', long);
  if (node.items.length === 0) return html`<span class="absent">none</span>`;
  const rows = node.items.filter((item) => item.kind === 'object');
  if (rows.length === node.items.length) return tableMarkup(name, rows, memberRows[name]);
  return html`<ul class="values">${node.items.map((item) => html`<li>${valueMarkup(item, 'row', long)}</li>`)}</ul>`;
}

async function listMarkup(name: string, items: readonly JsonNode[], view: RowView, inTurn: InTurn): Promise<Markup> {
  if (items.length === 0) return html`<p class="empty">No ${words(name)} here.</p>`;
  const rows = items.filter((item) => item.kind === 'object');
  if (rows.length < items.length) {
    const linked = items.map((item) => html`<li>${linkedMarkup(item, view.linksOf(new Map([['', item]]))[''])}</li>`);
    return html`<ul class="values">${linked}</ul>`;
  }
  const columns = await inTurn(() => columnsOf(rows, view));
  const payloads = rows.flatMap(({ members }) => [...members.values()]);
  const long = await longPayloads(payloads, inTurn);
  const lines: Markup[] = [];
  for (let start = 0; start < rows.length; start += ROWS_PER_PIECE) {
    const piece = rows.slice(start, start + ROWS_PER_PIECE);
    lines.push(...(await inTurn(() => piece.map((row) => rowMarkup(row, columns, view, long)))));
  }
  return tableOf(name, headsOf(columns, rows), lines);
}

function tableMarkup(name: string, rows: readonly JsonObject[], view = PLAIN): Markup {
  const columns = columnsOf(rows, view);
  return tableOf(
    name,
    headsOf(columns, rows),
    rows.map((row) => rowMarkup(row, columns, view, NO_LONG_PAYLOADS)),
  );
}

/** A wide table scrolls inside the page, so the keyboard must be able to focus it. */
function tableOf(name: string, heads: readonly Markup[], rows: readonly Markup[]): Markup {
  return html`<div class="scrolling" tabindex="0" role="region" aria-label="${words(name)}"><table><thead><tr>${heads}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

/** Heads of columns with numbers are aligned to the right, as the numbers are. */
function headsOf(columns: readonly string[], rows: readonly JsonObject[]): readonly Markup[] {
  return columns.map((column) => {
    const first = rows.find(({ members }) => members.has(column));
    return first?.members.get(column)?.kind === 'number'
      ? html`<th scope="col" class="of-numbers">${words(column)}</th>`
      : html`<th scope="col">${words(column)}</th>`;
  });
}

/** The columns of the view first, then the others in the order of the rows. */
function columnsOf(rows: readonly JsonObject[], { columns = [], hidden = [] }: RowView): readonly string[] {
  const named = new Set(rows.flatMap(({ members }) => [...members.keys()]));
  const ordered = new Set([...columns.filter((name) => named.has(name)), ...named]);
  return [...ordered].filter((name) => !hidden.includes(name));
}

function rowMarkup({ members }: JsonObject, columns: readonly string[], view: RowView, long: LongPayloads): Markup {
  const links = view.linksOf(members);
  const cells = columns.map((name) => {
    const node = members.get(name);
    return node === undefined ? html`<td class="none"></td>` : html`<td>${linkedMarkup(node, links[name], long)}</td>`;
  });
  return html`<tr>${cells}</tr>`;
}

function linkedMarkup(node: JsonNode, path: string | undefined, long = NO_LONG_PAYLOADS): Markup {
  const value = valueMarkup(node, 'row', long);
  return path === undefined ? value : html`<a href="${path}">${value}</a>`;
}

export function words(name: string): string {
  return name.replaceAll('_', ' ');
}

/** A text of several lines, or a unified diff with added and removed lines marked. */
function linesMarkup(text: string, kind: 'lines' | 'difference'): Markup {
  if (text === '') return html`<span class="absent">${kind === 'lines' ? 'empty' : 'nothing differs'}</span>`;
  if (kind === 'lines') return html`<pre class="json" tabindex="0">${text}</pre>`;
  return html`<pre class="difference" tabindex="0">${text.split('\n').map(lineMarkup)}</pre>`;
}

function lineMarkup(line: string): Markup {
  if (line.startsWith('+')) return html`<ins>${line}\n</ins>`;
  if (line.startsWith('-')) return html`<del>${line}\n</del>`;
  if (line.startsWith('@@')) return html`<span class="place">${line}\n</span>`;
  return html`<span>${line}\n</span>`;
}
