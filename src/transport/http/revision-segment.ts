/**
 * The `{revision}` segment of a revision-scoped path: a number, `latest` or `cached` (SPEC-HTTP-R1).
 *
 * `latest` and `cached` redirect to their current number, so that links and caches of a client name a revision. Some
 * routes take only a number.
 */
import { type AskedRevision, quote } from '#base';
import { type Keeping, kept, type RevisionHandler } from './caching.ts';
import { invalidField } from './errors.ts';
import { parseRevision } from './query-string.ts';
import { redirectReply, scopeHeaders } from './reply.ts';
import type { Handler } from './route.ts';

export type RevisionSegment =
  | { readonly kind: 'number'; readonly revision: AskedRevision }
  | { readonly kind: 'latest' | 'cached' };

/** A route that redirects `latest` and `cached`; `below` is the part of its path after the revision. */
export function redirecting(below: string, handle: RevisionHandler, keeping?: Keeping): Handler {
  const read = kept(handle, keeping);
  return async (request, context) => {
    const segment = parseSegment(request.param('revision'));
    if (segment.kind === 'number') return read(request, context, segment.revision);
    const scope = await context.service.databaseAt({ ...request.read(), at: segment.kind });
    const location = `/db/${scope.databaseName}/${scope.revision}${below}${request.search()}`;
    return redirectReply(segment.kind, location, scopeHeaders(scope));
  };
}

export function numeric(handle: RevisionHandler): Handler {
  const read = kept(handle);
  return (request, context) => {
    const text = request.param('revision');
    const segment = parseSegment(text);
    if (segment.kind === 'number') return read(request, context, segment.revision);
    const database = encodeURIComponent(request.param('database'));
    const hint = `GET /db/${database}/${text} redirects to it`;
    throw invalidField('revision', `must be a number on this path; ${hint}`, text);
  };
}

/** Segments that may follow a revision: in its position they show that the revision is missing. */
const BEHIND_REVISION = new Set(['events', 'streams', 'subjects', 'event-types', 'state-views', 'state-changes']);

/** @throws DatabaseError invalid_argument */
export function parseSegment(text: string): RevisionSegment {
  if (text === 'latest' || text === 'cached') return { kind: text };
  if (BEHIND_REVISION.has(text)) {
    throw invalidField('revision', `is missing: a number, latest or cached must stand before ${quote(text)}`);
  }
  if (!/^\d+$/.test(text)) throw invalidField('revision', 'must be a number, latest or cached', text);
  return { kind: 'number', revision: parseRevision('revision', text) };
}
