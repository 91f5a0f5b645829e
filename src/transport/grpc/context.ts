/** Parameters of the handlers of this transport. */
import type { Service } from '#service';
import type { LeaderTrailers } from './metadata.ts';

export interface GrpcContext {
  readonly service: Service;
  readonly leaderTrailers: LeaderTrailers;
  /** True when callers are authenticated. */
  readonly isAuthenticated: boolean;
}

export const EVENT_STORE = 'cairn.v1.EventStore';
export const CLUSTER_ADMIN = 'cairn.admin.v1.ClusterAdmin';
