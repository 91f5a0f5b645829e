/**
 * Draws a reply as TOON (Token-Oriented Object Notation) for agents: the data of its JSON in fewer tokens, with links
 * and actions.
 *
 * ```
 * <summary sentence>
 *
 * <the data: the members of the JSON, its lists as tables>
 * ---
 * Links:
 *   <name>: GET <path>
 * Actions:
 *   <name>:
 *     request: <method> <path>
 *     does: <what>
 *     body:
 *       <member>: <what it is>
 * ```
 * The part before `---` and the part after it are each a TOON document. Data can neither look like `---` nor start a
 * line: the encoder quotes and escapes it.
 */
import { encode } from '@toon-format/toon';
import type { JsonNode } from '#model';
import type { Action, Description } from '../description.ts';
import { type InTurn, parseMembers, parseOwnJson, type ReplyData } from '../reply-data.ts';
import { AS_JSON, jsonCell, jsonText, tableLines } from './toon-table.ts';
import { exactValue } from './toon-values.ts';

export async function renderToon(body: ReplyData, description: Description, inTurn: InTurn): Promise<string> {
  const data = await bodyLines(body, inTurn);
  return inTurn(() => page(description, data));
}

function page({ summary, links, actions }: Description, data: readonly string[]): string {
  const sentence = summary.replaceAll(/\s+/g, ' ').trim();
  return `${[sentence, '', ...data, '---', ...linkLines(links), ...actionLines(actions)].join('\n')}\n`;
}

async function bodyLines({ first, list, last }: ReplyData, inTurn: InTurn): Promise<readonly string[]> {
  if (list === undefined) return memberLines(first, inTurn);
  const before = await memberLines(first, inTurn);
  const items: JsonNode[] = [];
  for (const text of list.items.texts()) items.push(await inTurn(() => parseOwnJson(text)));
  const own = await listLines(list.name, items, inTurn);
  return [...before, ...own, ...(await memberLines(last, inTurn))];
}

/** Lines of the members of an object; `text` is its JSON without the braces. */
async function memberLines(text: string, inTurn: InTurn): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const [name, node] of await inTurn(() => parseMembers(text)))
    lines.push(...(await oneMember(name, node, inTurn)));
  return lines;
}

async function oneMember(name: string, node: JsonNode, inTurn: InTurn): Promise<readonly string[]> {
  if (node.kind === 'array' && node.items.length > 0) return listLines(name, node.items, inTurn);
  const value = await inTurn(() => exactValue(node));
  const shown = value === undefined ? { [`${name}${AS_JSON}`]: await jsonCell(node, inTurn) } : { [name]: value };
  return inTurn(() => encode(shown).split('\n'));
}

function listLines(name: string | undefined, items: readonly JsonNode[], inTurn: InTurn): Promise<readonly string[]> {
  if (items.every((item) => item.kind === 'object')) return tableLines(name, items, inTurn);
  return inTurn(() => {
    const values = items.map((item) => exactValue(item) ?? null);
    return encode(name === undefined ? values : { [name]: values }).split('\n');
  });
}

function linkLines(links: Description['links']): readonly string[] {
  const shown = Object.entries(links).flatMap(([name, path]) => (path === undefined ? [] : [[name, `GET ${path}`]]));
  return ['Links:', ...below(encode(Object.fromEntries(shown)))];
}

/** Encodes each action alone: the encoder would write similar ones as a table. */
function actionLines(actions: readonly Action[]): readonly string[] {
  return ['Actions:', ...actions.flatMap((action) => below(encode({ [action.name]: actionObject(action) })))];
}

function actionObject({ method, path, does, query, headers, contentType, body }: Action): object {
  const parts = { query, headers, content_type: contentType, body };
  const given = Object.entries(parts).filter(([, part]) => part !== undefined);
  return { request: `${method} ${path}`, does, ...Object.fromEntries(given) };
}

function below(text: string): readonly string[] {
  return text === '' ? [] : text.split('\n').map((line) => `  ${line}`);
}

export function renderToonNow({ first }: ReplyData, description: Description): string {
  const lines = [...parseMembers(first)].flatMap(([name, node]) => {
    const value = exactValue(node);
    return encode(value === undefined ? { [`${name}${AS_JSON}`]: jsonText(node) } : { [name]: value }).split('\n');
  });
  return page(description, lines);
}
