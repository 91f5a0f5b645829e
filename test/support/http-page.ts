/** The examples of docs/http.md: its requests, sent in their order, and the replies as the page shows them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Answer, HttpClient } from './http-client.ts';
import { builtComponent } from './wasm/built.ts';

const PAGE = resolve(import.meta.dirname, '../../docs/http.md');
/** What differs from run to run, and what the page shows instead; the ids in the order of their appearance. */
export const SHOWN_IDS: readonly string[] = [
  '019c1418-3200-7d3e-a1b5-6f80c2d4e913',
  '019c1418-3200-72c4-9c0f-d18e40a5b726',
];
/** Of the node that runs components, whose time goes on: every time is shown as this one. */
export const BANK_IDS: readonly string[] = [
  '019c1418-3200-7e06-8d4a-91c7b05f2e38',
  '019c1418-3200-7f1d-9c55-20b3d1a7e640',
];
const SHOWN_TIME = '2026-01-31T12:00:00Z';
const SHOWN_BYTES = 12_000_000;
const SHOWN_HASH = '5d41…';
const SHOWN_CURSOR = 'AQ…';

const SHOWN_HEADERS = 'location allow link cache-control x-database-id x-revision x-effective-time-end-at'.split(' ');

/** A longer body of JSON, and any of HTML, is `…`. */
const JSON_LENGTH_MAX = 16_384;

interface Example {
  readonly request: string;
  readonly reply: string;
}

/** The sections of components, which the server in memory does not run. */
export const OF_COMPONENTS: RegExp = /(?<=\n)## Publishing components\n[\s\S]*?(?=\n## Other spellings\n)/;
const EXAMPLE = /```http\n((?!HTTP)[\s\S]*?)\n```\n\n```http\n(HTTP[\s\S]*?)\n```/g;

function examplesOf(page: string): readonly Example[] {
  return [...page.matchAll(EXAMPLE)].map(([, request = '', reply = '']) => ({ request, reply }));
}

async function send(client: HttpClient, request: string): Promise<Answer> {
  const [head = '', ...rest] = request.split('\n\n');
  const [line = '', ...headers] = head.split('\n');
  const [, method = '', target = ''] = /^(\S+) (.*)$/.exec(line) ?? [];
  const [path = '', query] = target.split('?q=');
  const encoded = query === undefined ? path : `${path}?q=${Buffer.from(query).toString('base64url')}`;
  const body = rest.join('\n\n');
  return client.send(encoded, {
    method,
    headers: Object.fromEntries(headers.map((header) => header.toLowerCase().split(': '))),
    ...(rest.length === 0 ? {} : { body: body.startsWith('--') ? await partsOf(body) : body }),
  });
}

/** A body in parts, the last of which is a component that the page names. */
async function partsOf(shown: string): Promise<Uint8Array> {
  const [, before = '', module = '', after = ''] = /^(.*)\(the bytes of (\w+)\.wasm\)(.*)$/s.exec(shown) ?? [];
  const text = (lines: string): Buffer => Buffer.from(lines.replaceAll('\n', '\r\n'));
  return Buffer.concat([text(before), await builtComponent(`examples/bank/${module}.ts`), text(after)]);
}

/** The answer as the page shows it. */
function show({ status, headers, text }: Answer, shownId: (id: string) => string): string {
  const shown = SHOWN_HEADERS.filter((name) => headers.has(name)).map((name) => `${name}: ${headers.get(name)}`);
  const type = headers.get('content-type') ?? '';
  const isLong = type.startsWith('text/html') || (type.startsWith('application/json') && text.length > JSON_LENGTH_MAX);
  const body = isLong && text !== '' ? '…' : type.startsWith('application/json') ? indent(text) : text;
  const reply = [`HTTP/1.1 ${status}`, ...shown, ...(body === '' ? [] : ['', body])].join('\n');
  return reply
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, shownId)
    .replaceAll(/[0-9a-f]{64}/g, SHOWN_HASH)
    .replaceAll(/(?<=after=|"next_cursor": ")A[\w-]{24,}/g, SHOWN_CURSOR);
}

/** What stands for ids, in the order in which they appear. */
function standIns(shown: readonly string[]): (id: string) => string {
  const seen: string[] = [];
  return (id) => {
    if (!seen.includes(id)) seen.push(id);
    return shown[seen.indexOf(id)] ?? id;
  };
}

/** JSON in lines without being parsed, so that numbers stay as they are. */
function indent(text: string): string {
  let depth = 0;
  const parts = text.match(/"(?:\\.|[^"\\])*"|[{}[\],:]|[^\s"{}[\],:]+/g) ?? [];
  const lines = parts.map((part, at) => {
    const next = parts[at + 1];
    if (part === '{' || part === '[') {
      if (next === '}' || next === ']') return part;
      depth++;
      return `${part}\n${'  '.repeat(depth)}`;
    }
    const closes = next === '}' || next === ']';
    if (part === ',') return `,\n${'  '.repeat(depth)}`;
    if (part === ':') return ': ';
    if (!closes) return part;
    depth--;
    return `${part}\n${'  '.repeat(depth)}`;
  });
  return lines.join('');
}

function atShownTime(reply: string): string {
  return reply
    .replaceAll(/"20\d\d-\d\d-\d\dT[\d:.]+Z"/g, `"${SHOWN_TIME}"`)
    .replaceAll(/"wasm_bytes": \d+/g, `"wasm_bytes": ${SHOWN_BYTES}`);
}

/** Writes the replies into the page, behind the same requests. */
function updated(answered: readonly Example[]): readonly Example[] {
  const replies = new Map(answered.map(({ request, reply }) => [request, reply]));
  const text = readFileSync(PAGE, 'utf8').replaceAll(EXAMPLE, (pair: string, request: string) => {
    const reply = replies.get(request);
    return reply === undefined ? pair : `\`\`\`http\n${request}\n\`\`\`\n\n\`\`\`http\n${reply}\n\`\`\``;
  });
  writeFileSync(PAGE, text);
  return answered;
}

export function httpPage(): string {
  return readFileSync(PAGE, 'utf8');
}

/** Examples of a part of the page, and what a server answers to their requests; UPDATE=1 writes that into the page. */
export async function examplesIn(
  part: string,
  client: HttpClient,
  shown: readonly string[],
): Promise<{ readonly examples: readonly Example[]; readonly answered: readonly Example[] }> {
  const examples = examplesOf(part);
  const shownId = standIns(shown);
  const answered: Example[] = [];
  for (const { request } of examples) {
    const reply = show(await send(client, request), shownId);
    answered.push({ request, reply: shown === BANK_IDS ? atShownTime(reply) : reply });
  }
  return { examples: process.env['UPDATE'] === '1' ? updated(answered) : examples, answered };
}
