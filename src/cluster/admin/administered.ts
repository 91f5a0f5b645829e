/**
 * Admin requests and joins at the peer port, with their outcomes, for the audit log. Descriptions and dry runs change
 * nothing, and are not recorded.
 */
import { formatAddress, unreachable } from '#base';
import type { JoinReply, JoinRequest } from '../peer/join.ts';
import type { AdminReply, AdminRequest } from './administration.ts';

/** The client, as seen by its connection. */
export interface Asker {
  /** Host and port. */
  readonly address: string;
  /** The common name in its certificate; absent without TLS. */
  readonly certificate?: string;
}

/** Answers an operator, or a node that forwards a request of one. Never rejects. */
export type Administer = (request: AdminRequest, asker: Asker) => Promise<AdminReply>;

/** A store outside the cluster that has requested to join it. */
export interface AskedJoin {
  readonly kind: 'join';
  readonly name: string;
  readonly storeId: string;
  /** host:port at which the store says that other nodes reach it. */
  readonly at: string;
}

export interface Administered {
  readonly order: Exclude<AdminRequest['order'], { readonly kind: 'describe' | 'copy' }> | AskedJoin;
  readonly asker: Asker;
  /** Forwarded by another node, which has an audit record of its own. */
  readonly isPassedOn: boolean;
  /** Why it was not done; `unavailable`: retryable, and it may have been done. */
  readonly refusal?: { readonly code: 'not_found' | 'failed_precondition' | 'unavailable'; readonly reason: string };
}

/** Undefined: the request changes nothing. */
export function actIn(order: AdminRequest['order']): Exclude<Administered['order'], AskedJoin> | undefined {
  if (order.kind === 'describe' || order.kind === 'copy') return undefined;
  return order.kind === 'drain' && order.isDryRun ? undefined : order;
}

/** Records each request when its outcome is known. */
export function noting(
  administer: (request: AdminRequest) => Promise<AdminReply>,
  note: (administered: Administered) => void,
): Administer {
  return async (request, asker) => {
    const reply = await administer(request);
    const { isPassedOn } = request;
    const order = actIn(request.order);
    if (order === undefined) return reply;
    const refusal = refusalIn(reply);
    note({ order, asker, isPassedOn, ...(refusal !== undefined && { refusal }) });
    return reply;
  };
}

/** Records each join with a reply: the store is a node now, or was refused. */
export function notingJoins(
  join: (request: JoinRequest) => Promise<JoinReply>,
  isNode: (storeId: string) => boolean,
  note: (administered: Administered) => void,
): (request: JoinRequest, asker?: Asker) => Promise<JoinReply> {
  return async (request, asker = { address: 'unknown' }) => {
    const { storeId, name, peer } = request.registration;
    const isKnown = isNode(storeId);
    const reply = await join(request);
    const order = { kind: 'join', name, storeId, at: formatAddress(peer) } as const;
    if (reply.kind === 'joined' && !isKnown) note({ order, asker, isPassedOn: false });
    if (reply.kind !== 'refused') return reply;
    note({ order, asker, isPassedOn: false, refusal: { code: 'failed_precondition', reason: reply.reason } });
    return reply;
  };
}

/** Why a request was not carried out; undefined: it was. */
export function refusalIn(reply: AdminReply): Administered['refusal'] {
  switch (reply.kind) {
    case 'faulty':
      return { code: reply.code === 'refused' ? 'unavailable' : reply.code, reason: reply.reason };
    case 'later':
      return { code: 'unavailable', reason: reply.reason };
    case 'done':
    case 'finalized':
    case 'copies-set':
    case 'recovered':
    case 'described':
    case 'copy':
      return undefined;
    default:
      return unreachable(reply);
  }
}
