/** Errors before a route is reached: those that fastify raises, by their code (TH1), and unknown paths and methods. */
import type { FastifyRequest } from 'fastify';
import { cut, DatabaseError, escapeUnseen } from '#base';
import { invalidField } from './errors.ts';
import type { HttpReply } from './reply.ts';
import { allowedMethods } from './routes.ts';
import { refused } from './show.ts';

/**
 * Errors that fastify can raise while it receives a request. It does not handle bodies, schemas and path lengths here,
 * so their codes cannot occur.
 */
const TRANSLATIONS: ReadonlyMap<unknown, (request: FastifyRequest) => DatabaseError> = new Map([
  [
    'FST_ERR_CTP_INVALID_MEDIA_TYPE',
    ({ headers }) =>
      invalidField('Content-Type', 'must be a media type such as application/json', headers['content-type']),
  ],
  ['FST_ERR_BAD_URL', ({ url }) => invalidField('path', 'must have percent encodings of UTF-8, such as %C3%A9', url)],
]);

/** Translates an error. An unknown one is an internal error, whose text is only logged. */
export function toDatabaseError(error: unknown, request: FastifyRequest): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const translate = error instanceof Error && 'code' in error ? TRANSLATIONS.get(error.code) : undefined;
  if (translate !== undefined) return translate(request);
  return new DatabaseError('internal', 'The server failed to answer this request; see its log.', { cause: error });
}

const STARTS = '/databases, /db, /api/v1, /health, /livez, /readyz, /startupz or /assets';
const ROUTES_RULE = `there is /, and those that begin with ${STARTS}; /api/v1/docs describes them`;
const SHOWN_PATH_LENGTH_MAX = 200;

/** The reply for an unknown path, or for a method that a path does not have (ADR 0011). */
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
