/** What the handlers of this transport work with. */
import type { Service } from '#service';
import type { LeaderTrailers } from './metadata.ts';

export interface GrpcContext {
  readonly service: Service;
  readonly leaderTrailers: LeaderTrailers;
  /** Whether callers are authenticated. */
  readonly isAuthenticated: boolean;
}

export const EVENT_STORE = 'cairn.v1.EventStore';
export const CLUSTER_ADMIN = 'cairn.admin.v1.ClusterAdmin';

/** Whether a service is for known principals, where clients are asked who they are; health is for anybody. */
export function isGuarded(service: string): boolean {
  return service.startsWith('cairn.');
}
