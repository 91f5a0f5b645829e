/**
 * The reply to a request that failed: in the rendering that was asked for where the request reads, which is also what a
 * GET of a path does that there is not. Writes are refused in JSON.
 */
import type { FastifyRequest } from 'fastify';
import type { DatabaseError } from '#base';
import { errorReply } from '../errors.ts';
import type { HttpReply } from '../reply.ts';
import { errorPage } from './error-page.ts';
import { renderingFor } from './renderings.ts';
import { textBody } from './reply-body.ts';
import { VARIES } from './show.ts';

export function refused(request: FastifyRequest, error: DatabaseError): HttpReply {
  const reply = errorReply(error);
  const { isRead = request.method === 'GET' || request.method === 'HEAD' } = request.routeOptions.config;
  if (!isRead) return reply;
  const headers = { ...reply.headers, vary: VARIES };
  const rendering = renderingFor(request.headers.accept);
  if (rendering === undefined) return { ...reply, headers };
  const page = errorPage(error, { databaseName: databaseIn(request.params), target: request.url });
  return {
    status: reply.status,
    headers: { ...headers, ...rendering.headers },
    contentType: rendering.contentType,
    body: rendering.renderNow(textBody(reply.body ?? '{}'), page),
  };
}

function databaseIn(params: unknown): string | undefined {
  const named = typeof params === 'object' && params !== null && 'database' in params ? params.database : undefined;
  return typeof named === 'string' ? named : undefined;
}
