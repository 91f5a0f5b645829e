/** What the handlers of this transport work with. */
import type { Service } from '#service';
import type { ByteBudget } from '../byte-budget.ts';
import type { LeaderTrailers } from './metadata.ts';

export interface GrpcContext {
  readonly service: Service;
  readonly leaderTrailers: LeaderTrailers;
  /** Bytes of replies that have not left yet. */
  readonly unsent: ByteBudget;
}

export const EVENT_STORE = 'cairn.v1.EventStore';
