/** An HTTP client with node:http that converts each reply to an answer. */
import { Agent, request as send } from 'node:http';
import type { Answer, Query, Request, Saved, Sent } from '../model/vocabulary.ts';
import { answerOf, failure, type Json, type Reply } from './http-answers.ts';
import { callOf } from './http-calls.ts';
import { readJson } from './http-json.ts';
import type { HttpCall } from './malformed.ts';

const TIMEOUT_MS = 45_000;

export class HttpClient implements Disposable {
  readonly #base: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });

  constructor(base: string) {
    this.#base = base;
  }

  async send({ request, minRevision }: Sent): Promise<Answer> {
    const call = callOf(request);
    const least = minRevision === undefined ? {} : { 'x-min-revision': String(minRevision) };
    const reply = await this.#send({ ...call, headers: { ...call.headers, ...least } });
    const scope = scopeOf(reply);
    if (reply.status >= 400) return { ...failure(reply), ...scope };
    if (reply.status === 307) return this.#follow(request, reply, scope);
    if (reply.status === 204) return {};
    const answer = { ...scope, ...answerOf(request, readJson(reply.text) as Json, reply) };
    return { ...answer, saved: savedOf(request, call, reply, answer) };
  }

  /** Follows the redirect of `latest` and `cached` to a revision. */
  async #follow(request: Request, { headers }: Reply, { revision }: Answer): Promise<Answer> {
    const path = String(headers['location']);
    if (!path.endsWith(`/${revision}`)) return { error: `redirected to ${path} at revision ${revision}` };
    const reply = await this.#send({ method: 'GET', path });
    if (reply.status !== 200) return failure(reply);
    return { ...scopeOf(reply), ...answerOf(request, readJson(reply.text) as Json, reply) };
  }

  #send(call: HttpCall): Promise<Reply> {
    return exchange(this.#agent, this.#base, call);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Rejects when there is no reply. */
export function exchange(agent: Agent, base: string, { method, path, body, headers }: HttpCall): Promise<Reply> {
  const typed =
    body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const options = { method, agent, headers: { accept: 'application/json', ...typed, ...headers } };
  return new Promise((resolve, reject) => {
    const sent = send(`${base}${path}`, options, (reply) => {
      const pieces: Buffer[] = [];
      reply.on('data', (piece: Buffer) => pieces.push(piece));
      reply.on('error', reject);
      reply.on('end', () => {
        const { statusCode: status = 0, headers: received } = reply;
        resolve({ status, headers: received, text: Buffer.concat(pieces).toString('utf8') });
      });
    });
    sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error(`${method} ${path} is not answered in ${TIMEOUT_MS} ms`)));
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Data to request the page after this one. */
function savedOf(request: Request, { paged }: HttpCall, { headers, text }: Reply, answer: Answer): Saved | undefined {
  const query = queryOf(request);
  const last = answer.events?.at(-1);
  if (query === undefined || last === undefined || answer.hasMore !== true) return undefined;
  const { next, next_cursor: cursor } = readJson(text) as Json;
  const after = { revision: BigInt(last.revision), index: last.index };
  const saved = { via: request.via, query: { ...query, after, at: BigInt(answer.revision ?? 0) } };
  const path = next ?? /^<([^>]+)>; rel="next"$/.exec(String(headers['link'] ?? ''))?.[1];
  if (typeof path === 'string') return { ...saved, next: path };
  if (typeof cursor === 'string') return { ...saved, next: cursor, body: paged };
  throw new Error(`there are more events, and no way to them: ${text.slice(0, 200)}`);
}

/** The query of a paged answer. */
function queryOf(request: Request): Query | undefined {
  if (request.kind === 'query') return request.query;
  if (request.kind === 'next') return request.saved.query;
  if (request.kind !== 'scan') return undefined;
  // Its cursor continues by position.
  return { selectors: [], isReverse: request.isReverse, limit: request.limit };
}

function scopeOf({ headers }: Reply): Answer {
  const { 'x-database-id': databaseId, 'x-revision': revision } = headers;
  return {
    ...(databaseId === undefined ? {} : { databaseId: String(databaseId) }),
    ...(revision === undefined ? {} : { revision: Number(revision) }),
  };
}
