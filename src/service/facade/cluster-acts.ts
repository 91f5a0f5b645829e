/** Names and subjects of admin requests in the audit log (docs/security.md, ADR 0135). */
import type { Administered } from '#cluster';

type Act = Administered['order'];

const ACTS: Readonly<Record<Act['kind'], string>> = {
  join: 'join-node',
  decommission: 'decommission-node',
  recommission: 'recommission-node',
  replace: 'replace-node',
  drain: 'drain-node',
  undrain: 'undrain-node',
  finalize: 'finalize-upgrade',
  recover: 'recover-database',
  'set-copies': 'set-copies',
};

export function actOf(order: Act): string {
  return ACTS[order.kind];
}

export function aboutAct(order: Act): Readonly<Record<string, string | number>> {
  switch (order.kind) {
    case 'decommission':
    case 'recommission':
    case 'undrain':
      return { onNode: order.node };
    case 'drain':
      return { onNode: order.node, ...(order.stays && { mode: 'stay' }) };
    case 'replace':
      return { onNode: order.node, ...(order.by !== undefined && { by: order.by }) };
    case 'finalize':
      return {};
    case 'join':
      return { nodeName: order.name, store: order.storeId, at: order.at };
    case 'set-copies':
      return { database: order.name, copies: order.copies };
    case 'recover': {
      const { name, from, acceptRevision } = order;
      return { database: name, onNode: from, ...(acceptRevision !== undefined && { acceptRevision }) };
    }
  }
}
