/** A route: one entry of the routing table, and the context of all routes. */

import type { Clock } from '#base';
import type { Probes } from '#observability';
import type { Service } from '#service';
import type { Action } from '#ui';
import type { HttpReply } from './reply.ts';
import type { HttpRequest } from './request.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Absent where a path has no route, and for OPTIONS. */
    readonly route?: Route;
    /** The path of the route, for metrics and logs. */
    readonly label?: string;
  }
}

export type HttpMethod = 'GET' | 'POST' | 'DELETE';

/** Parts of the node that routes use. */
export interface RouteContext {
  readonly service: Service;
  readonly clock: Clock;
  readonly probes: Probes;
  /** Watches work that continues after its reply. A fatal failure of it stops the node. */
  readonly goOn: (work: Promise<unknown>) => void;
}

export type Handler = (request: HttpRequest, context: RouteContext) => Promise<HttpReply> | HttpReply;

export interface Route {
  readonly method: HttpMethod;
  /** Path with `{parameter}` segments, as in the specification; also the label of metrics. */
  readonly path: string;
  readonly handle: Handler;
  /** Status of success. Default: 200, or 204 for DELETE. */
  readonly status?: 201 | 202;
  /** Query parameters. Default: none. */
  readonly parameters?: readonly string[];
  /** Headers of ours that it takes besides `x-min-revision`. Default: none. */
  readonly headers?: readonly string[];
  /** True: also takes parameters with a dot, which bind the selector of a State View: `subject.account`. */
  readonly takesBindings?: boolean;
  /** True: takes any parameter, because their meaning depends on stored definitions. */
  readonly takesAnyParameter?: boolean;
  /** True: the route only reads. Default: GET does. */
  readonly isRead?: boolean;
  /** True: the route needs no credential. */
  readonly isForAnybody?: boolean;
  /**
   * True: refused when authentication is off. Otherwise any client could issue itself a key, and use it once
   * authentication is on.
   */
  readonly needsAuthentication?: boolean;
  /** For a route without authentication: tells whether a request counts for the rate limit. Default: none does. */
  readonly isCounted?: (params: unknown) => boolean;
  /** For a write: whether it is idempotent. Default: no. */
  readonly isRepeatable?: (request: HttpRequest) => boolean;
  /** Action that pages offer on this route, which then accepts their forms, too. */
  readonly offered?: (params: Readonly<Record<string, string>>) => Action;
  /** Bytes of the body, if more than the default. */
  readonly bodyBytesMax?: number;
  /** Bytes to reserve before a reply is made that may be large. Pages of events reserve their own. */
  readonly answerBytes?: number;
}

export function isRead({ isRead: reads, method }: Route): boolean {
  return reads ?? method === 'GET';
}
