/** One answer for unknown paths and for methods that a path does not have (ADR 0011). */
import type { FastifyRequest } from 'fastify';
import { cut, DatabaseError, escapeUnseen } from '#base';
import { refused } from './rendering/refusal.ts';
import type { HttpReply } from './reply.ts';
import { allowedMethods } from './routes.ts';

const STARTS = '/databases, /db, /api/v1, /health, /livez, /readyz, /startupz or /assets';
const ROUTES_RULE = `there is /, and those that begin with ${STARTS}; /api/v1/docs describes them`;
/** Characters of an unknown path that its error repeats. */
const SHOWN_PATH_LENGTH_MAX = 200;

export function notFound(request: FastifyRequest): HttpReply {
  const path = request.url.split('?', 1)[0] ?? '';
  const route = `${request.method} ${escapeUnseen(cut(path, SHOWN_PATH_LENGTH_MAX))}`;
  const allow = allowedMethods(path);
  if (allow === undefined)
    return refused(request, new DatabaseError('not_found', `There is no route ${route}; ${ROUTES_RULE}.`));
  const message = `There is no route ${route}; this path has ${allow}.`;
  const reply = refused(request, new DatabaseError('not_found', message, { details: { reason: 'MethodNotAllowed' } }));
  return { ...reply, headers: { ...reply.headers, allow } };
}
