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

/** Tells whether a service requires a principal when authentication is on. Health is public. */
export function isGuarded(service: string): boolean {
  return service.startsWith('cairn.');
}
