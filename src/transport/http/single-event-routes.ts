/** One event: by its position, or by its stream and stored id. */

import type { AskedRevision } from '#base';
import type { SingleEventReply } from '#service';
import { eventPage } from '#ui';
import { ITEM_ANSWER_BYTES } from './limits.ts';
import { eventJson } from './paging.ts';
import { parseRevision } from './query-string.ts';
import { type HttpReply, nextLink, scopeHeaders } from './reply.ts';
import { textBody } from './reply-body.ts';
import type { HttpRequest } from './request.ts';
import { numeric } from './revision-segment.ts';
import type { Handler, Route, RouteContext } from './route.ts';
import { show } from './show.ts';

/** Largest index in a request. The service checks the limit of the specification, which is far lower. */
const INDEX_BOUNDS = { min: 0, max: 0xffff };

const INDEX = 'index';

const eventById: Handler = numeric(async (request, context, at) => {
  const event = { kind: 'id', stream: request.param('stream'), id: request.param('event_id') } as const;
  return eventReply(request, await context.service.singleEvent({ ...request.read(), at, event }));
});

export const SINGLE_EVENT_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/db/{database}/{revision}/events/{event_revision}',
    parameters: [INDEX],
    answerBytes: ITEM_ANSWER_BYTES,
    handle: numeric(async (request, context, at) =>
      eventAtPosition(request, context, { at, segment: 'event_revision' }),
    ),
  },
  {
    method: 'GET',
    path: '/db/{database}/{revision}/events/{stream}/{event_id}',
    answerBytes: ITEM_ANSWER_BYTES,
    handle: eventById,
  },
  {
    method: 'GET',
    path: '/databases/{database}/events/{revision}',
    parameters: [INDEX],
    answerBytes: ITEM_ANSWER_BYTES,
    handle: async (request, context) => eventAtPosition(request, context, { at: 'latest', segment: 'revision' }),
  },
];

async function eventAtPosition(
  request: HttpRequest,
  context: RouteContext,
  { at, segment }: { readonly at: AskedRevision | 'latest'; readonly segment: string },
): Promise<HttpReply> {
  const revision = parseRevision(segment, request.param(segment));
  const position = { revision, index: request.query().integer(INDEX, INDEX_BOUNDS) ?? 0 };
  const reply = await context.service.singleEvent({ ...request.read(), at, event: { kind: 'position', position } });
  return eventReply(request, reply, position.index + 1);
}

/** `nextIndex` becomes a link when the transaction has an event there. */
async function eventReply(request: HttpRequest, reply: SingleEventReply, nextIndex?: number): Promise<HttpReply> {
  const isMore = nextIndex !== undefined && nextIndex < reply.eventCount;
  const next = isMore ? `${request.path()}?${request.query().with(INDEX, String(nextIndex))}` : undefined;
  const body = await request.inTurn(() => eventJson(reply.event));
  return show(request, {
    body: textBody(body),
    headers: { ...scopeHeaders(reply), ...nextLink(next) },
    describe: () => eventPage(reply),
  });
}
