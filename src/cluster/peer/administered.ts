/**
 * What was ordered at the port of peers, and what came of it, for whoever keeps a record of it. Descriptions change
 * nothing, and are none.
 */
import { unreachable } from '#base';
import type { AdminReply, AdminRequest } from './administration.ts';

/** Who has asked, as the connection shows him. */
export interface Asker {
  /** Host and port. */
  readonly address: string;
  /** The common name in his certificate; absent without TLS. */
  readonly certificate?: string;
}

/** Answers an operator, or a node that passes his order on. Never rejects. */
export type Administer = (request: AdminRequest, asker: Asker) => Promise<AdminReply>;

export interface Administered {
  readonly order: Exclude<AdminRequest['order'], { readonly kind: 'describe' | 'copy' }>;
  readonly asker: Asker;
  /** By another node, which has a record of its own. */
  readonly isPassedOn: boolean;
  /** Why it was not done; `unavailable`: it may be asked again, and nobody knows whether it was done. */
  readonly refusal?: { readonly code: 'not_found' | 'failed_precondition' | 'unavailable'; readonly reason: string };
}

/** Has each order noted when its outcome is known. */
export function noting(
  administer: (request: AdminRequest) => Promise<AdminReply>,
  note: (administered: Administered) => void,
): Administer {
  return async (request, asker) => {
    const reply = await administer(request);
    const { order, isPassedOn } = request;
    if (order.kind === 'describe' || order.kind === 'copy') return reply;
    const refusal = refusalIn(reply);
    note({ order, asker, isPassedOn, ...(refusal !== undefined && { refusal }) });
    return reply;
  };
}

function refusalIn(reply: AdminReply): Administered['refusal'] {
  switch (reply.kind) {
    case 'faulty':
      return { code: reply.code, reason: reply.reason };
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
