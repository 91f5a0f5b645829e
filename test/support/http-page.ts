/** Runs the examples of docs/http.md: sends the requests in order, and formats the replies as the page shows them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Answer, HttpClient } from './http-client.ts';
import { builtComponent } from './wasm/built.ts';

const PAGE = resolve(import.meta.dirname, '../../docs/http.md');
/** The page's replacements for ids, which differ from run to run, in order of their appearance. */
export const SHOWN_IDS: readonly string[] = [
  '019c1418-3200-7d3e-a1b5-6f80c2d4e913',
  '019c1418-3200-72c4-9c0f-d18e40a5b726',
];
/** The same for the node that runs components. Its clock advances, so the page shows the same time everywhere. */
export const BANK_IDS: readonly string[] = [
  '019c1418-3200-7e06-8d4a-91c7b05f2e38',
  '019c1418-3200-7f1d-9c55-20b3d1a7e640',
];
const SHOWN_TIME = '2026-01-31T12:00:00Z';
const SHOWN_BYTES = 12_000_000;
const SHOWN_HASH = '5d41…';
const SHOWN_CURSOR = 'AQ…';

const SHOWN_HEADERS = 'location allow link cache-control x-database-id x-revision x-effective-time-end-at'.split(' ');

/** Longer JSON bodies and all HTML bodies are shown as `…`. */
const JSON_LENGTH_MAX = 16_384;

interface Example {
  readonly request: string;
  readonly reply: string;
}

/** The sections about components, which the in-memory server does not run. */
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

/** A multipart body whose last part is the component that the page names. */
async function partsOf(shown: string): Promise<Uint8Array> {
  const [, before = '', module = '', after = ''] = /^(.*)\(the bytes of (\w+)\.wasm\)(.*)$/s.exec(shown) ?? [];
  const text = (lines: string): Buffer => Buffer.from(lines.replaceAll('\n', '\r\n'));
  return Buffer.concat([text(before), await builtComponent(`examples/bank/${module}.ts`), text(after)]);
}

/** The reply in the form of the page. */
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

/** Maps ids to their replacements, in order of their appearance. */
function standIns(shown: readonly string[]): (id: string) => string {
  const seen: string[] = [];
  return (id) => {
    if (!seen.includes(id)) seen.push(id);
    return shown[seen.indexOf(id)] ?? id;
  };
}

/** Formats JSON without parsing it, so that numbers stay unchanged. */
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

/** Writes the replies into the page, after the same requests. */
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

/**
 * Examples of a part of the page, with the server's replies to their requests; UPDATE=1 writes the replies into the
 * page.
 */
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
