/**
 * Admin requests and joins at the peer port, with their outcomes, for the audit log. Descriptions and dry runs change
 * nothing, and are not noted.
 */
import { formatAddress, unreachable } from '#base';
import type { AdminReply, AdminRequest } from './administration.ts';
import type { JoinReply, JoinRequest } from './join.ts';

/** The client, as its connection shows it. */
export interface Asker {
  /** Host and port. */
  readonly address: string;
  /** The common name in its certificate; absent without TLS. */
  readonly certificate?: string;
}

/** Answers an operator, or a node that passes an order on. Never rejects. */
export type Administer = (request: AdminRequest, asker: Asker) => Promise<AdminReply>;

/** A store that is no node of the cluster yet has asked to become one. */
export interface AskedJoin {
  readonly kind: 'join';
  readonly name: string;
  readonly storeId: string;
  /** host:port where it says that other nodes reach it. */
  readonly at: string;
}

export interface Administered {
  readonly order: Exclude<AdminRequest['order'], { readonly kind: 'describe' | 'copy' }> | AskedJoin;
  readonly asker: Asker;
  /** By another node, which has a record of its own. */
  readonly isPassedOn: boolean;
  /** Why it was not done; `unavailable`: it may be asked again, and may have been done. */
  readonly refusal?: { readonly code: 'not_found' | 'failed_precondition' | 'unavailable'; readonly reason: string };
}

/** Undefined: the order changes nothing. */
export function actIn(order: AdminRequest['order']): Exclude<Administered['order'], AskedJoin> | undefined {
  if (order.kind === 'describe' || order.kind === 'copy') return undefined;
  return order.kind === 'drain' && order.isDryRun ? undefined : order;
}

/** Has each order noted when its outcome is known. */
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

/** Has each join noted that has an answer: the store is a node now, or is refused. */
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

/** Why an order was not carried out; undefined: it was. */
export function refusalIn(reply: AdminReply): Administered['refusal'] {
  switch (reply.kind) {
    case 'faulty':
      return { code: reply.code === 'refused' ? 'unavailable' : reply.code, reason: reply.reason };
    case 'later':
      return { code: 'unavailable', reason: reply.reason };
    case 'done':
    case 'finalized':
    case 'recovered':
    case 'described':
    case 'copy':
      return undefined;
    default:
      return unreachable(reply);
  }
}
