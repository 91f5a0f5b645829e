/**
 * What a route is: one line of the routing table, and the context that every route works in.
 */
import type { Clock } from '#base';
import type { Probes } from '#observability';
import type { Service } from '#service';
import type { Action } from './rendering/description.ts';
import type { HttpReply } from './reply.ts';
import type { HttpRequest } from './request.ts';

export type HttpMethod = 'GET' | 'POST' | 'DELETE';

/** What the routes need of the node. */
export interface RouteContext {
  readonly service: Service;
  readonly clock: Clock;
  readonly probes: Probes;
  /** Looks after work that goes on behind its answer: what it ends with concerns nobody but the node. */
  readonly goOn: (work: Promise<unknown>) => void;
}

export type Handler = (request: HttpRequest, context: RouteContext) => Promise<HttpReply> | HttpReply;

export interface Route {
  readonly method: HttpMethod;
  /** Path with `{parameter}` segments, as the specification writes it; also the metrics' label. */
  readonly path: string;
  readonly handle: Handler;
  /** Of its success: 200, or 204 of a deletion, unless given. */
  readonly status?: 201 | 202;
  /** The query parameters that it takes; none unless given. */
  readonly parameters?: readonly string[];
  /** Headers of ours that it takes beside `x-min-revision`; none unless given. */
  readonly headers?: readonly string[];
  /** Whether it takes those with a dot, too, which bind what a State View selects: `subject.account`. */
  readonly takesBindings?: boolean;
  /** Whether it takes any, because what they are for is not known before something is read. */
  readonly takesAnyParameter?: boolean;
  /** Whether it reads, which every GET does. */
  readonly isRead?: boolean;
  /** Whether it is answered without a credential, also where one is required. */
  readonly isForAnybody?: boolean;
  /** Whether it is refused wherever everybody may do everything. */
  readonly needsAuthentication?: boolean;
  /** Of what is for anybody: whether it counts among the requests of its client. None does unless given. */
  readonly isCounted?: (params: unknown) => boolean;
  /** Of a write: whether it has the same effect twice as once. Default: it has not. */
  readonly isRepeatable?: (request: HttpRequest) => boolean;
  /** What pages offer to do by it: then it takes their forms, too. */
  readonly offered?: (params: Readonly<Record<string, string>>) => Action;
  /** Bytes of body, when the route takes more than most. */
  readonly bodyBytesMax?: number;
  /** Bytes that there must be room for before the answer is made, when it may become large and is no page of events. */
  readonly answerBytes?: number;
}
