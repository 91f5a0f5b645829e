/** Forms without scripts send their empty fields, too: whoever sends one is led to the URL without them. */
import { VARIES } from './rendering/show.ts';
import type { HttpReply } from './reply.ts';
import type { HttpRequest } from './request.ts';

/** Undefined when there are none, or when no form can have sent them. */
export function withoutEmptyFields(request: HttpRequest): HttpReply | undefined {
  if (request.search() === '' || request.rendering()?.hasForms !== true) return undefined;
  const filledIn = request.query().filledIn();
  if (filledIn === undefined) return undefined;
  const location = filledIn === '' ? request.path() : `${request.path()}?${filledIn}`;
  return { status: 307, headers: { location, 'cache-control': 'no-store', vary: VARIES } };
}
