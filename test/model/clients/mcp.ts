/**
 * An MCP client that sends HTTP requests through the tool `fetch`, and converts TOON pages to the JSON of their data.
 */
import { Agent } from 'node:http';
import { decode } from '@toon-format/toon';
import type { Answer, Sent } from '../model/vocabulary.ts';
import { exchange } from './http.ts';
import { answerOf, failure, type Json, type Reply } from './http-answers.ts';
import { callOf } from './http-calls.ts';
import { readJson } from './http-json.ts';
import type { HttpCall } from './malformed.ts';

const INITIALIZE =
  '"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"model","version":"1"}}';
const [INVALID_REQUEST, API_FAILED] = [-32_600, -32_603];
/** Errors for text that is no message, and for invalid arguments of a tool. */
const REFUSALS: readonly unknown[] = [-32_700, -32_602];

interface Message {
  readonly id?: number | null;
  readonly result?: { readonly content?: readonly { readonly text: string }[] };
  readonly error?: { readonly code: number; readonly message: string };
}

export class McpClient implements Disposable {
  readonly #base: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });
  #session: Promise<string> | undefined;
  readonly #inFlight = new Set<number>();
  #count = 0;

  constructor(base: string) {
    this.#base = base;
  }

  async send({ request }: Sent): Promise<Answer> {
    const { result, error } = await this.#call(callOf(request));
    const text = result?.content?.[0]?.text;
    if (text !== undefined) {
      // Unlike the JSON reply, the page of an event by its id links to the next event.
      const link = request.via === 'GET event by id' ? undefined : /^ {2}next: (GET.*)$/m.exec(text)?.[1];
      return { ...answerOf(request, readPage(text), { status: 200, headers: { link }, text }), isUnscoped: true };
    }
    if (REFUSALS.includes(error?.code)) return { error: 'invalid_argument' };
    const [, status, body = ''] = /^Request failed with status (\d+): ([^]*)$/.exec(error?.message ?? '') ?? [];
    if (error?.code !== API_FAILED || status === undefined) return { error: JSON.stringify(error) };
    const page = JSON.stringify(readPage(body));
    return { ...failure({ status: Number(status), headers: {}, text: page }), isUnscoped: true };
  }

  /**
   * Every third call reuses the id of a call in flight, if there is one, and is repeated with its own id after the
   * refusal.
   */
  async #call({ method, path, body }: HttpCall): Promise<Message> {
    const session = await (this.#session ??= this.#begin());
    const [, short, q] = /^([^?]+)\?q=([\w-]+)$/.exec(path) ?? [];
    const query = q === undefined ? '' : `,"query_params":{"q":${Buffer.from(q, 'base64url').toString()}}`;
    const rest = body === undefined ? query : `,"body":${body}`;
    const [tool, given] =
      method === 'tool'
        ? [path, body]
        : ['fetch', `{"method":"${method}","path":${JSON.stringify(short ?? path)}${rest}}`];
    const call = `"tools/call","params":{"name":"${tool}","arguments":${given}}`;
    const own = ++this.#count;
    const [taken = own] = own % 3 === 0 ? this.#inFlight : [];
    const id = taken;
    const reply = await this.#exchange(id, call, session);
    const isRefused = reply.error?.code === INVALID_REQUEST && id !== own;
    return isRefused ? this.#exchange(own, call, session) : reply;
  }

  async #exchange(id: number, call: string, session: string): Promise<Message> {
    this.#inFlight.add(id);
    try {
      const message = messageIn(await this.#post(`{"jsonrpc":"2.0","id":${id},"method":${call}}`, session));
      if (message.id !== id && message.error === undefined) throw new Error(`${id} has the answer of ${message.id}`);
      return message;
    } finally {
      this.#inFlight.delete(id);
    }
  }

  async #begin(): Promise<string> {
    const { headers } = await this.#post(`{"jsonrpc":"2.0","id":0,"method":${INITIALIZE}}`);
    const session = String(headers['mcp-session-id']);
    await this.#post('{"jsonrpc":"2.0","method":"notifications/initialized"}', session);
    return session;
  }

  #post(body: string, session?: string): Promise<Reply> {
    const named = session === undefined ? {} : { 'mcp-session-id': session };
    const headers = { accept: 'application/json, text/event-stream', ...named };
    return exchange(this.#agent, `${this.#base}/`, { method: 'POST', path: '', body, headers });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

function messageIn({ text, headers }: Reply): Message {
  const isStream = String(headers['content-type']).startsWith('text/event-stream');
  const json = isStream ? /^data: (\{.*)$/m.exec(text)?.[1] : text;
  if (json === undefined) throw new Error(`a call is answered without a message: ${text}`);
  return JSON.parse(json) as Message;
}

/** Writes are answered in JSON. A TOON page has its data between the summary and the links. */
function readPage(text: string): Json {
  if (text.startsWith('{')) return readJson(text) as Json;
  const [, data] = /^\S.*\n\n([^]*?)\n---\nLinks:\n/.exec(text) ?? [];
  if (data === undefined) throw new Error(`not a page of TOON: ${text}`);
  return Object.fromEntries(
    Object.entries(decode(data) as Json).map(([name, value]) =>
      shown(name, Array.isArray(value) ? value.map(withoutAbsent) : value),
    ),
  );
}

/** Null means that the row does not have the member. */
function withoutAbsent(row: unknown): unknown {
  if (typeof row !== 'object' || row === null) return row;
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => (value === null ? [] : [shown(name, value)])),
  );
}

/** A member `x_json` contains the JSON text of `x`. */
function shown(name: string, value: unknown): readonly [name: string, value: unknown] {
  return name.endsWith('_json') ? [name.slice(0, -'_json'.length), readJson(String(value))] : [name, value];
}
