/**
 * Answers the form of a page with a page, or with a redirect to what the form made. The route itself answers JSON.
 *
 * ```
 *   request                          answer
 *   created or committed         ──> 303 to it, so that a reload sends nothing
 *   repeated                     ──> a page that says so; the form has a new id, because its fields may differ by now
 *   dry run, or without effect   ──> the result, and the form as it was
 *   refused                      ──> the faults at their fields, and the form as it was, with its id
 *   from another origin          ──> a refusal without a form
 *   without an id                ──> nothing is done: the form as it was, with a new id
 * ```
 */
import type { FastifyRequest } from 'fastify';
import { DatabaseError } from '#base';
import { answeredPage, committedPath, type Description, membersOf, type SentForm, unsentPage } from '#ui';
import { fieldsIn, formOf, saidBy } from './form-request.ts';
import { PIECE_BYTES } from './limits.ts';
import { FOREIGN_ORIGIN } from './other-origins.ts';
import { HTML_RENDERING } from './renderings.ts';
import type { HttpReply } from './reply.ts';
import { textBody } from './reply-body.ts';
import type { HttpRequest } from './request.ts';
import { databaseIn, rendered, VARIES } from './show.ts';

type OfferedForm = SentForm['action'];

const NO_FIELDS: ReadonlyMap<string, string> = new Map();

/** Replaces the request with the one of its form. Returns the answer when nothing is to be done yet. */
export async function takeForm(request: FastifyRequest, routed: HttpRequest): Promise<HttpReply | undefined> {
  const action = formOf(request);
  // The route reads multipart bodies itself.
  if (action === undefined || action.contentType !== undefined) return undefined;
  const { form, trial } = action;
  const fields = fieldsIn(routed.body(), routed.header('content-type') ?? '');
  const isLarge = routed.body().length > PIECE_BYTES;
  const said = isLarge ? await routed.inTurn(() => saidBy(form, fields)) : saidBy(form, fields);
  const isTrial = trial !== undefined && routed.query().get(trial) === 'true';
  if (form.once !== undefined && !isTrial && (fields.get(form.once) ?? '') === '') {
    return page({ status: 200, headers: {} }, '{}', unsentPage(sentForm(request, action)));
  }
  routed.fillIn(said);
  return undefined;
}

/** Turns the JSON reply to a form into a page or a redirect; returns any other reply unchanged. */
export function shownToForm(request: FastifyRequest, reply: HttpReply): HttpReply {
  const { status, headers, body } = reply;
  if (typeof body !== 'string' || reply.contentType?.startsWith('application/json') !== true) return reply;
  const action = formOf(request);
  if (action === undefined) return reply;
  const answer = membersOf(JSON.parse(body));
  const place = status === CREATED ? headers['location'] : committedPath(answer);
  if (place !== undefined) {
    return { status: 303, headers: { ...headers, location: place, 'cache-control': 'no-store', vary: VARIES } };
  }
  // Sent again from this page, the form would come from our own origin.
  const isForeign = membersOf(membersOf(answer['error'])['details'])['reason'] === FOREIGN_ORIGIN;
  const described = answeredPage(sentForm(request, action), answer, !isForeign);
  return page(reply, body.length > PIECE_BYTES ? '{}' : body, described);
}

const CREATED = 201;

function page(reply: HttpReply, body: string, said: Description): HttpReply {
  return rendered(HTML_RENDERING, reply, HTML_RENDERING.renderNow(textBody(body), said));
}

function sentForm(request: FastifyRequest, action: OfferedForm): SentForm {
  const [path = ''] = request.url.split('?', 1);
  return { action: { ...action, path }, typed: typedIn(request, action), databaseName: databaseIn(request.params) };
}

/** None when the fields cannot be read, or in a multipart body, whose files are never shown again. */
function typedIn({ body, headers }: FastifyRequest, { contentType }: OfferedForm): ReadonlyMap<string, string> {
  if (!(body instanceof Uint8Array) || contentType !== undefined) return NO_FIELDS;
  try {
    return fieldsIn(body, headers['content-type'] ?? '');
  } catch (failure) {
    if (failure instanceof DatabaseError) return NO_FIELDS;
    throw failure;
  }
}
