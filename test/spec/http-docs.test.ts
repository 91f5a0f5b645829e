// Goal: the reference page of the HTTP API is true, and names every route. Method: its requests are sent in their order
// to a new server whose time stands still, and its replies compared. UPDATE=1 writes the replies into the page.
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROUTES } from '../../src/transport/http/routes.ts';
import type { Answer } from '../support/http-client.ts';
import { type HttpWorld, startHttpWorld } from '../support/http-world.ts';

const PAGE = resolve(import.meta.dirname, '../../docs/http.md');
const NOW_MS = Date.UTC(2026, 0, 31, 12);

/** What differs from run to run, and what the page shows instead; the ids in the order of their appearance. */
const SHOWN_IDS = ['019c1418-3200-7d3e-a1b5-6f80c2d4e913', '019c1418-3200-72c4-9c0f-d18e40a5b726'];
const SHOWN_HASH = '5d41…';
const SHOWN_CURSOR = 'AQ…';

const SHOWN_HEADERS = [
  'location',
  'allow',
  'link',
  'cache-control',
  'x-database-id',
  'x-revision',
  'x-effective-time-end-at',
];

interface Example {
  readonly request: string;
  readonly reply: string;
}

const EXAMPLE = /```http\n((?!HTTP)[\s\S]*?)\n```\n\n```http\n(HTTP[\s\S]*?)\n```/g;

function examplesOf(page: string): readonly Example[] {
  return [...page.matchAll(EXAMPLE)].map(([, request = '', reply = '']) => ({ request, reply }));
}

function send(world: HttpWorld, request: string): Promise<Answer> {
  const [head = '', body] = request.split('\n\n');
  const [line = '', ...headers] = head.split('\n');
  const [, method = '', target = ''] = /^(\S+) (.*)$/.exec(line) ?? [];
  const [path = '', query] = target.split('?q=');
  const encoded = query === undefined ? path : `${path}?q=${Buffer.from(query).toString('base64url')}`;
  return world.client.send(encoded, {
    method,
    headers: Object.fromEntries(headers.map((header) => header.toLowerCase().split(': '))),
    ...(body === undefined ? {} : { body }),
  });
}

/** The answer as the page shows it. */
function show({ status, headers, text }: Answer, seen: string[]): string {
  const shown = SHOWN_HEADERS.filter((name) => headers.has(name)).map((name) => `${name}: ${headers.get(name)}`);
  const isJson = headers.get('content-type')?.startsWith('application/json') === true;
  const body = isJson ? indent(text) : text;
  const reply = [`HTTP/1.1 ${status}`, ...shown, ...(body === '' ? [] : ['', body])].join('\n');
  return reply
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => shownId(id, seen))
    .replaceAll(/[0-9a-f]{64}/g, SHOWN_HASH)
    .replaceAll(/(?<=after=|"next_cursor": ")A[\w-]{24,}/g, SHOWN_CURSOR);
}

function shownId(id: string, seen: string[]): string {
  if (!seen.includes(id)) seen.push(id);
  return SHOWN_IDS[seen.indexOf(id)] ?? id;
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

let world: HttpWorld;

beforeAll(async () => {
  world = await startHttpWorld({ nowMs: NOW_MS, holdsWaits: false });
});

afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

describe('docs/http.md', () => {
  const page = readFileSync(PAGE, 'utf8');

  it('names every route', () => {
    const missing = ROUTES.filter(({ method, path }) => !page.includes(`\`${method} ${path}\``));
    expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });

  it('shows what the server answers', async () => {
    const examples = examplesOf(page);
    const answered: Example[] = [];
    const seen: string[] = [];
    for (const { request } of examples) answered.push({ request, reply: show(await send(world, request), seen) });
    expect(examples.length).toBeGreaterThan(25);
    expect(process.env['UPDATE'] === '1' ? update(page, answered) : examples).toEqual(answered);
  });
});

function update(page: string, examples: readonly Example[]): readonly Example[] {
  let at = 0;
  const updated = page.replaceAll(EXAMPLE, () => {
    const { request, reply } = examples[at++] ?? { request: '', reply: '' };
    return `\`\`\`http\n${request}\n\`\`\`\n\n\`\`\`http\n${reply}\n\`\`\``;
  });
  writeFileSync(PAGE, updated);
  return examplesOf(updated);
}
