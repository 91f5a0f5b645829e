/** Renders replies as the client accepts them: HTML, TOON (#ui) or JSON. Writes that fail are answered in JSON. */
import type { FastifyRequest } from 'fastify';
import type { DatabaseError } from '#base';
import { type Description, errorPage } from '#ui';
import { isUntried, RELAYED, UNTRIED } from '../relay.ts';
import { errorReply } from './errors.ts';
import { type Rendering, renderingFor } from './renderings.ts';
import { type HttpReply, jsonBytesReply, jsonReply } from './reply.ts';
import { bodyJson, type ReplyBody, textBody } from './reply-body.ts';
import type { HttpRequest } from './request.ts';
import { isRead } from './route.ts';

/** The result of a read and its description. */
export interface Shown {
  readonly body: ReplyBody;
  readonly headers: Readonly<Record<string, string>>;
  readonly describe: () => Description;
}

/** Caches keep one reply per value of this header. */
export const VARIES = 'accept';

export async function show(request: HttpRequest, { body, headers, describe }: Shown): Promise<HttpReply> {
  const rendering = request.rendering();
  if (rendering === undefined) {
    const json = bodyJson(body);
    const all = { ...headers, vary: VARIES };
    return typeof json === 'string' ? jsonReply(200, json, all) : jsonBytesReply(json, all);
  }
  const description = describe();
  // A form with an id in it is for this reader alone.
  const isForOne = rendering.hasForms && description.actions.some(({ filled }) => filled !== undefined);
  const text = await rendering.render(body, description, (work) => request.inTurn(work));
  const reply = rendered(rendering, { status: 200, headers }, text);
  return isForOne ? { ...reply, headers: { ...reply.headers, 'cache-control': 'no-store' } } : reply;
}

/** The reply to a request that failed. A path without a route is rendered when it is read. */
export function refused(request: FastifyRequest, error: DatabaseError): HttpReply {
  const failed = errorReply(error);
  const isRelayed = request.headers[RELAYED] !== undefined;
  const untried = isRelayed && isUntried(error.details.reason) ? { [UNTRIED]: 'true' } : {};
  const reply = { ...failed, headers: { ...failed.headers, ...untried } };
  const { route } = request.routeOptions.config;
  if (!(route === undefined ? ['GET', 'HEAD'].includes(request.method) : isRead(route))) return reply;
  const rendering = renderingFor(request.headers.accept);
  if (rendering === undefined) return { ...reply, headers: { ...reply.headers, vary: VARIES } };
  const page = errorPage(error, { databaseName: databaseIn(request.params), target: request.url });
  return rendered(rendering, reply, rendering.renderNow(textBody(reply.body ?? '{}'), page));
}

/** Adds the headers of a rendering, and the body that it made. */
export function rendered(rendering: Rendering, { status, headers }: HttpReply, body: string): HttpReply {
  const all = { ...headers, vary: VARIES, ...rendering.headers };
  return { status, headers: all, contentType: rendering.contentType, body };
}

export function databaseIn(params: unknown): string | undefined {
  const named = typeof params === 'object' && params !== null && 'database' in params ? params.database : undefined;
  return typeof named === 'string' ? named : undefined;
}

/**
 * Redirects a read with empty fields, which browsers send for a form without scripts, to the URL without them.
 * Undefined when there are none, or when the client shows no pages.
 */
export function withoutEmptyFields(request: HttpRequest): HttpReply | undefined {
  if (request.search() === '' || request.rendering()?.hasForms !== true) return undefined;
  const filledIn = request.query().filledIn();
  if (filledIn === undefined) return undefined;
  const location = filledIn === '' ? request.path() : `${request.path()}?${filledIn}`;
  return { status: 307, headers: { location, 'cache-control': 'no-store', vary: VARIES } };
}
