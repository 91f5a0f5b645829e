/**
 * What a form of a page is answered: what its route answers in JSON, as a page, or where it leads to what was made.
 *
 * ```
 *   what comes              the page
 *   made, or committed  ──> 303 to it, so that whoever loads it again sends nothing
 *   sent before         ──> says so, and has the form with another id: what stands in it may be something else by now
 *   tried, or nothing   ──> what was found, and the form as it was
 *   refused             ──> what is wrong, at its field, and the form as it was, with the id that it had
 *   of another origin   ──> so much, and no form
 *   without an id       ──> nothing is done yet: the form as it was, with one
 * ```
 */
import type { FastifyRequest } from 'fastify';
import { DatabaseError, quote } from '#base';
import { fieldsIn, formOf, saidBy } from './form-request.ts';
import { PIECE_BYTES } from './limits.ts';
import { FOREIGN_ORIGIN } from './other-origins.ts';
import { counted } from './rendering/database-pages.ts';
import type { Action, Description, Filled, Form, Links } from './rendering/description.ts';
import { onceOnly } from './rendering/forms.ts';
import { CATALOG_PATH, changesPath, databasePath, transactionPath } from './rendering/paths.ts';
import { HTML_RENDERING } from './rendering/renderings.ts';
import { textBody } from './rendering/reply-body.ts';
import { VARIES } from './rendering/show.ts';
import type { HttpReply } from './reply.ts';
import type { HttpRequest } from './request.ts';

const NO_FIELDS: ReadonlyMap<string, string> = new Map();

/** Makes the request what its form says. The answer, where nothing is to be done yet. */
export async function takeForm(request: FastifyRequest, routed: HttpRequest): Promise<HttpReply | undefined> {
  const action = formOf(request);
  // What comes in parts is read by its route.
  if (action === undefined || action.contentType !== undefined) return undefined;
  const { form, trial } = action;
  const fields = fieldsIn(routed.body(), routed.header('content-type') ?? '');
  const isLarge = routed.body().length > PIECE_BYTES;
  const said = isLarge ? await routed.inTurn(() => saidBy(form, fields)) : saidBy(form, fields);
  const isTrial = trial !== undefined && routed.query().get(trial) === 'true';
  if (form.once !== undefined && !isTrial && (fields.get(form.once) ?? '') === '') return unsent(request, form.once);
  routed.fillIn(said);
  return undefined;
}

/** Two that were sent by one click too many would be two transactions. */
function unsent(request: FastifyRequest, field: string): HttpReply {
  const description = {
    title: 'Not sent yet',
    summary: `Nothing has been committed. Send it once more: it has a ${field} now, by which it is committed once, however often it is sent.`,
    links: placesIn(request, {}),
    actions: [shownAgain(request, { isAnew: true })],
  };
  return page({ status: 200, headers: {} }, '{}', description);
}

/** The answer to a form, of that which was answered in JSON; of any other request that itself. */
export function shownToForm(request: FastifyRequest, reply: HttpReply): HttpReply {
  const { status, headers, body } = reply;
  if (typeof body !== 'string' || reply.contentType?.startsWith('application/json') !== true) return reply;
  if (formOf(request) === undefined) return reply;
  const answer = objectOf(JSON.parse(body));
  const place = madePlace(reply, answer);
  if (place !== undefined) {
    return { status: 303, headers: { ...headers, location: place, 'cache-control': 'no-store', vary: VARIES } };
  }
  const isAnew = objectOf(answer['transaction'])['replayed'] === true;
  const description = {
    ...saidOf(answer),
    links: placesIn(request, answer),
    // Sent from the page of its refusal it would be from here, by one click of whoever was led to it.
    actions: isForeign(answer) ? [] : [shownAgain(request, { isAnew, answer })],
  };
  return page({ status, headers }, body.length > PIECE_BYTES ? '{}' : body, description);
}

function isForeign({ error }: Members): boolean {
  return objectOf(objectOf(error)['details'])['reason'] === FOREIGN_ORIGIN;
}

/** Of what is there now, and was not before. */
function madePlace({ status, headers }: HttpReply, answer: Members): string | undefined {
  if (status === CREATED) return headers['location'];
  const { database, transaction_id: id, replayed } = objectOf(answer['transaction']);
  return replayed === false && typeof database === 'string' && typeof id === 'string'
    ? transactionPath(database, id)
    : undefined;
}

const CREATED = 201;

function page({ status, headers }: Pick<HttpReply, 'status' | 'headers'>, body: string, said: Description): HttpReply {
  return {
    status,
    headers: { ...headers, ...HTML_RENDERING.headers, vary: VARIES },
    contentType: HTML_RENDERING.contentType,
    body: HTML_RENDERING.renderNow(textBody(body), said),
  };
}

type Members = Readonly<Record<string, unknown>>;

function objectOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** What came of it, in a few words and in a sentence. */
function saidOf(answer: Members): Pick<Description, 'title' | 'summary'> {
  const { error, dry_run: isDry, events, revision, epoch } = answer;
  if (error !== undefined) {
    return { title: 'That did not work', summary: `The request failed: ${String(objectOf(error)['message'])}` };
  }
  if (isDry === true && Array.isArray(events)) {
    const would = `${counted(events.length, 'event')} would be committed; nothing has been.`;
    return { title: 'Dry run', summary: `As of revision ${Number(revision)} ${would}` };
  }
  if (epoch !== undefined) {
    return { title: 'Forgotten', summary: `What was folded is forgotten: the fold epoch is ${Number(epoch)}.` };
  }
  const { revision: recorded } = objectOf(answer['transaction']);
  if (recorded !== undefined) {
    const before = `What this form has sent before was committed as revision ${Number(recorded)}.`;
    return {
      title: 'Sent before',
      summary: `${before} Nothing more has been committed; send it once more, and what stands in it now is.`,
    };
  }
  return {
    title: 'Nothing to commit',
    summary: `It was decided on no event, as of revision ${Number(revision)}: nothing has been committed.`,
  };
}

function placesIn({ params }: FastifyRequest, answer: Members): Links {
  const { database: named } = objectOf(params);
  const { database, revision, transaction_id: id } = objectOf(answer['transaction']);
  const isRecorded = typeof database === 'string' && typeof revision === 'number' && typeof id === 'string';
  return {
    ...(isRecorded && { transaction: transactionPath(database, id) }),
    ...(isRecorded &&
      revision > 0 && { what_has_changed: changesPath({ databaseName: database, revision }, revision - 1) }),
    latest: typeof named === 'string' ? databasePath({ databaseName: named, revision: 'latest' }) : undefined,
    databases: CATALOG_PATH,
  };
}

interface Again {
  readonly isAnew: boolean;
  readonly answer?: Members;
}

function shownAgain(request: FastifyRequest, { isAnew, answer = {} }: Again): Action {
  const action = formOf(request);
  if (action === undefined) throw new TypeError('Only what a form has sent is shown in it again');
  const [path = ''] = request.url.split('?', 1);
  const typed = typedIn(request, action);
  const filled: Filled = { values: Object.fromEntries(typed), faults: faultsIn(answer, action.form), isTyped: true };
  const again = { ...action, path, filled };
  const hasId = action.form.once !== undefined && (typed.get(action.form.once) ?? '') !== '';
  return isAnew || !hasId ? onceOnly(again) : again;
}

/** None where it cannot be read, and none of what came in parts, of which files are never shown again. */
function typedIn({ body, headers }: FastifyRequest, { contentType }: Action): ReadonlyMap<string, string> {
  if (!(body instanceof Uint8Array) || contentType !== undefined) return NO_FIELDS;
  try {
    return fieldsIn(body, headers['content-type'] ?? '');
  } catch (failure) {
    if (failure instanceof DatabaseError) return NO_FIELDS;
    throw failure;
  }
}

/** By the field in which each is: that of `events[0].id` is `events`. */
function faultsIn(answer: Members, { fields }: Form): Readonly<Record<string, string>> {
  const { violations } = objectOf(objectOf(answer['error'])['details']);
  const faults = new Map<string, string>();
  for (const { field, description, value } of Array.isArray(violations) ? violations.map(objectOf) : []) {
    const path = String(field);
    const [name = ''] = path.split(/[.[]/, 1);
    if (!Object.hasOwn(fields, name)) continue;
    const place = path === name ? '' : `at ${path.slice(name.length).replace(/^\./, '')} `;
    const found = typeof value === 'string' ? `; found ${quote(value)}` : '';
    const said = `${place}${String(description)}${found}`;
    faults.set(name, faults.has(name) ? `${faults.get(name)}; ${said}` : said);
  }
  return Object.fromEntries(faults);
}
