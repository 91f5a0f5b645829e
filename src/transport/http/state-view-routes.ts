/**
 * Renderings of State Views: in the revision-scoped family at a revision, with an ETag; in the collection-style family
 * at the requested revision, without cache headers.
 */
import { type AskedRevision, DatabaseError, formatInstant } from '#base';
import type { BoundStateView, OpenedPresenter, OpenedStateView, OpenStateViewRequest } from '#service';
import { systemTimers } from '#service';
import { cachingHeaders, NO_STORE, saysNoCache, tagMatch, weakTag } from './caching.ts';
import { deliver } from './delivery.ts';
import { CUT, cutFrom, NOW, nowAt } from './effective-time-cut.ts';
import { BUFFERED_MS_MAX, REQUEST_TIMEOUT_MS, STREAMED_MS_MAX } from './limits.ts';
import { negotiate } from './negotiation.ts';
import { parseRevision, type QueryParameters } from './query-string.ts';
import { continuationOf, type RenderParameters, renderParameters } from './render-parameters.ts';
import { type HttpReply, nextLink, redirectReply, scopeHeaders, varying } from './reply.ts';
import type { HttpRequest } from './request.ts';
import { parseSegment } from './revision-segment.ts';
import type { Route, RouteContext } from './route.ts';
import { versionIn } from './version-routes.ts';

const SCOPED = '/api/v1/db/{database}/{revision}/state-views/{name}/v{version}';
const COLLECTION = '/databases/{database}/state-views/{name}';
const VARIANT = '/api/v1/databases/{database}/state-views/{name}/versions/{version}';
const REVISION = 'revision';

export const STATE_VIEW_ROUTES: readonly Route[] = [
  { method: 'GET', path: SCOPED, takesAnyParameter: true, handle: renderScoped },
  { method: 'GET', path: COLLECTION, takesAnyParameter: true, handle: renderNamed },
  { method: 'GET', path: VARIANT, takesAnyParameter: true, handle: renderNamed },
];

/**
 * A rendering comes from the code of a user, in any content type. A browser must not run scripts in it on the origin of
 * the API, where they would act for its reader.
 */
const SANDBOXED = {
  'content-security-policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:",
} as const;

type Headers = HttpReply['headers'];

type Scope = Pick<BoundStateView, 'databaseName' | 'revision'>;

/** The state to render, and its URL with resolved revision and version. */
interface Asked extends Omit<OpenStateViewRequest, 'databaseName' | 'signal'> {
  readonly query: QueryParameters;
  /** True when the reply may be cached, because its URL names revision and version. */
  readonly isFixed: boolean;
}

async function renderScoped(request: HttpRequest, context: RouteContext): Promise<HttpReply> {
  const segment = parseSegment(request.param('revision'));
  const name = request.param('name');
  const version = versionIn(request);
  if (segment.kind === 'number') {
    return render(request, context, { at: segment.revision, name, version, query: request.query(), isFixed: true });
  }
  const scope = await context.service.databaseAt({ ...request.read(), at: segment.kind });
  return redirectReply(segment.kind, `${pathOf(scope, name, version)}${request.search()}`, scopeHeaders(scope));
}

/** URL of a version at a revision. */
function pathOf({ databaseName, revision }: Scope, name: string, version: number | bigint): string {
  return `/api/v1/db/${databaseName}/${revision}/state-views/${encodeURIComponent(name)}/v${version}`;
}

/** Revision of the parameter, or the latest; version of the path, or the latest. */
function renderNamed(request: HttpRequest, context: RouteContext): Promise<HttpReply> {
  const text = request.query().get(REVISION);
  const at: AskedRevision | 'latest' =
    text === undefined || text === 'latest' ? 'latest' : parseRevision(REVISION, text);
  const version = request.param('version') === '' ? undefined : versionIn(request);
  const isFixed = at !== 'latest' && version !== undefined;
  const query = request.query().without(REVISION);
  return render(request, context, { at, name: request.param('name'), version, query, isFixed });
}

async function render(request: HttpRequest, context: RouteContext, asked: Asked): Promise<HttpReply> {
  const { query, isFixed, ...wanted } = asked;
  const opened = await context.service.openStateView({ ...request.read(), ...wanted });
  const { definition } = opened.version;
  const isPresented = definition.presenter !== undefined;
  const parameters = renderParameters(query, { name: definition.name, isPresented });
  const cut = cutFrom(parameters.cut);
  if (cut === NOW && definition.order === 'effective-time') return redirectToNow(request, context, opened);
  const view = opened.bind({
    parameters: parameters.bindings,
    field: 'query',
    cut: cut === NOW ? undefined : cut,
  });
  const refolds = opened.mayRefold && saysNoCache(request);
  const keeping = refolds ? 'refolded' : isFixed ? 'kept' : 'passing';
  const presenter = await opened.presenter();
  if (presenter === undefined) return plain(request, view, keeping);
  return presented(request, view, presenter, { presented: parameters.presented, query, keeping });
}

/**
 * Caching of a reply: by its ETag; not at all, because its URL names no revision; or folded again, whatever ETag the
 * client has (SPEC-HTTP-R7).
 */
type Keeping = 'kept' | 'passing' | 'refolded';

function keepingHeaders(request: HttpRequest, keeping: Keeping, etag: string, varies: readonly string[] = []): Headers {
  if (keeping === 'kept') return cachingHeaders(request, etag, varies);
  return { ...(keeping === 'refolded' && NO_STORE), ...varying({ vary: varies.join() }) };
}

async function redirectToNow(
  request: HttpRequest,
  context: RouteContext,
  { revision }: OpenedStateView,
): Promise<HttpReply> {
  const { instant, scope } = await nowAt(request, context, revision);
  const location = `${request.path()}?${request.query().with(CUT, formatInstant(instant))}`;
  return redirectReply('effective_time', location, scopeHeaders(scope));
}

async function plain(request: HttpRequest, view: BoundStateView, keeping: Keeping): Promise<HttpReply> {
  const etag = weakTag(inputsOf(view));
  const headers = { ...headersOf(view), ...keepingHeaders(request, keeping, etag) };
  const match = keeping === 'kept' ? tagMatch(request, etag) : undefined;
  if (match === 'named') return { status: 304, headers };
  const refolds = keeping === 'refolded';
  const { bytes, hasState } = await view.render({ signal: request.signal(), refolds });
  if (match === 'any' && hasState) return { status: 304, headers };
  const { contentType, schema, name } = view.version.definition;
  const described = schema?.kind === 'held' && describedBy(view.databaseName, name, view.version.version);
  // A copy, because the memory of a sent reply is released, and the state may be cached.
  return { status: 200, headers: { ...headers, ...described }, contentType, body: Buffer.from(bytes) };
}

function describedBy(databaseName: string, name: string, version: number): Headers {
  return { link: `</api/v1/db/${databaseName}/state-views/${name}/v${version}/schema>; rel="describedby"` };
}

async function presented(
  request: HttpRequest,
  view: BoundStateView,
  presenter: OpenedPresenter,
  {
    presented: shown,
    query,
    keeping,
  }: Pick<RenderParameters, 'presented'> & Pick<Asked, 'query'> & { keeping: Keeping },
): Promise<HttpReply> {
  const { definition, version } = presenter.version;
  const contentType = contentTypeFor(request, presenter);
  const settings = [...definition.settings];
  const etag = weakTag([...inputsOf(view), definition.name, version, settings, contentType, [...shown]]);
  const headers = { ...headersOf(view), ...keepingHeaders(request, keeping, etag, ['accept']) };
  // `*` matches any reply, but only the presenter knows whether there is one.
  if (keeping === 'kept' && tagMatch(request, etag) === 'named') return { status: 304, headers };
  const beganMs = performance.now();
  const signal = request.signal();
  const state = await view.render({ signal, refolds: keeping === 'refolded' });
  const isBuffered = !request.knowsChunks();
  const wholeMs = isBuffered ? BUFFERED_MS_MAX : STREAMED_MS_MAX;
  const firstMs = Math.max(1, (isBuffered ? BUFFERED_MS_MAX : REQUEST_TIMEOUT_MS) - (performance.now() - beganMs));
  const asked = { contentType, parameters: shown, firstMs, wholeMs, signal };
  const { continuation, body } = await presenter.present(state, asked);
  // The state that was presented: its next page must show the same one.
  const path = pathOf(view, view.version.definition.name, view.version.version);
  const next = continuation === undefined ? undefined : continuationOf(path, query, continuation);
  return deliver(body, {
    answer: { status: 200, headers: { ...headers, ...nextLink(next) }, contentType },
    isBuffered,
    isHead: request.isHead(),
    firstMs,
    signal,
    time: systemTimers,
  });
}

/** @throws DatabaseError not_acceptable: the client accepts no content type of the presenter */
function contentTypeFor(request: HttpRequest, { version: { definition } }: OpenedPresenter): string {
  const offers = definition.offers.map(({ contentType }) => contentType);
  const accept = request.header('accept');
  const offer = offers[negotiate(accept, offers) ?? offers.length];
  if (offer !== undefined) return offer;
  const message = `The presenter ${definition.name} offers ${offers.join(', ')}, and none of these is accepted by ${JSON.stringify(accept)}`;
  throw new DatabaseError('not_acceptable', message, { details: { reason: 'NotAcceptable' } });
}

/** Everything that determines a rendered state (SPEC-HTTP-R6). */
function inputsOf({ databaseId, revision, version, cut, parameters }: BoundStateView): readonly unknown[] {
  const { definition, version: number, foldEpoch } = version;
  const bindings = [...parameters].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return [databaseId, definition.name, number, foldEpoch, revision, cut && formatInstant(cut), bindings];
}

function headersOf(view: BoundStateView): Headers {
  const { cut } = view;
  return {
    ...SANDBOXED,
    ...scopeHeaders(view),
    ...(cut !== undefined && { 'x-effective-time-end-at': formatInstant(cut) }),
  };
}
