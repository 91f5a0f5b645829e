/** Values of JSON for people: numbers as they were written, payloads laid out over lines. */
import type { JsonNode } from '#model';
import { LAID_OUT_BYTES_MAX, laidOut, rawText } from '../laid-out.ts';
import type { InTurn } from '../toon-table.ts';
import { html, type Markup } from './markup.ts';

/** Of a value that is folded until somebody looks: more than its line has room for. */
const LINE_CHARACTERS_MAX = 200;

/** On a page of its own a value is shown whole; in a list what has parts is folded. */
export type Room = 'page' | 'row';

/** Payloads that take long to escape, as that was done in pieces. */
export type LongPayloads = ReadonlyMap<JsonNode, Markup>;
export const NO_LONG_PAYLOADS: LongPayloads = new Map();

/** Of payloads that are not laid out: nobody else's request may wait until all of such a text is escaped (TH11). */
export async function longPayloads(nodes: Iterable<JsonNode>, inTurn: InTurn): Promise<LongPayloads> {
  const found = new Map<JsonNode, Markup>();
  for (const node of nodes) {
    if (node.kind !== 'raw' || node.bytes.length <= LAID_OUT_BYTES_MAX) continue;
    const pieces: Markup[] = [];
    for (const piece of piecesOf(await inTurn(() => rawText(node)))) pieces.push(await inTurn(() => html`${piece}`));
    found.set(node, html`${pieces}`);
  }
  return found;
}

/** Between characters, each of which may be two units of UTF-16. */
function* piecesOf(text: string): Iterable<string> {
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = Math.min(start + PIECE_CHARACTERS, text.length);
    if (isHighSurrogate(text.charCodeAt(end - 1)) && end < text.length) end += 1;
    yield text.slice(start, end);
  }
}

const PIECE_CHARACTERS = 16 * 1024;

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

export function valueMarkup(node: JsonNode, room: Room, long: LongPayloads): Markup {
  switch (node.kind) {
    case 'string':
      return textMarkup(node.value);
    case 'number':
      return html`<span class="number">${node.text}</span>`;
    case 'boolean':
      return html`<span class="word">${String(node.value)}</span>`;
    case 'null':
      return html`<span class="absent">null</span>`;
    case 'raw':
    case 'object':
    case 'array':
      return structureMarkup(node, room, long.get(node));
  }
}

/** Times in one line, or in two where a table is narrow; identifiers and hashes in letters that are all as wide. */
function textMarkup(text: string): Markup {
  if (TIME.test(text)) {
    const [day, hour] = text.split('T');
    return html`<time datetime="${text}">${day}T<wbr>${hour}</time>`;
  }
  if (IDENTIFIER.test(text)) return html`<code>${text}</code>`;
  return html`<span class="${text.length <= ONE_LINE_CHARACTERS_MAX ? 'text short' : 'text'}">${text}</span>`;
}

/** A shorter text is not broken in a table. */
const ONE_LINE_CHARACTERS_MAX = 48;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const IDENTIFIER = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40,})$/;

function structureMarkup(node: JsonNode, room: Room, escaped: Markup | undefined): Markup {
  const text = node.kind === 'raw' ? rawText(node) : laidOut(node);
  const whole = escaped ?? text;
  if (room === 'page') return html`<pre class="json" tabindex="0">${whole}</pre>`;
  const line = text
    .slice(0, LINE_CHARACTERS_MAX)
    .toWellFormed()
    .replaceAll(/\s*\n\s*/g, ' ');
  return html`<details class="folded"><summary><code class="json">${line}</code></summary><pre class="json" tabindex="0">${whole}</pre></details>`;
}
