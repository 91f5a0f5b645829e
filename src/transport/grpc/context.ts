/** What the handlers of this transport work with. */
import type { Service } from '#service';
import type { LeaderTrailers } from './metadata.ts';

export interface GrpcContext {
  readonly service: Service;
  readonly leaderTrailers: LeaderTrailers;
}

export const EVENT_STORE = 'cairn.v1.EventStore';
