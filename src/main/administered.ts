/** Orders at the port of peers as records of the audit log (docs/security.md, ADR 0147). */
import type { Administered } from '#cluster';
import type { AuditRecord } from '#service';

const ACTS: Readonly<Record<Administered['order']['kind'], string>> = {
  join: 'join-node',
  decommission: 'decommission-node',
  recommission: 'recommission-node',
  replace: 'replace-node',
  drain: 'drain-node',
  finalize: 'finalize-upgrade',
  recover: 'recover-database',
};

/** Whoever reaches that port may order anything there: it is known by what certificate, or from where. */
export function recordOf({ order, asker, isPassedOn, refusal }: Administered): AuditRecord {
  const { address, certificate } = asker;
  return {
    act: ACTS[order.kind],
    principal: certificate === undefined ? 'peer-port' : `peer-certificate:${certificate}`,
    principalName: certificate ?? address,
    outcome: refusal === undefined ? 'done' : 'failed',
    ...(refusal !== undefined && { code: refusal.code }),
    about: {
      from: address,
      ...aboutOf(order),
      ...(isPassedOn && { passedOn: 'by a node' }),
      ...(refusal !== undefined && { why: refusal.reason }),
    },
  };
}

function aboutOf(order: Administered['order']): AuditRecord['about'] {
  switch (order.kind) {
    case 'decommission':
    case 'recommission':
    case 'drain':
      return { onNode: order.node };
    case 'replace':
      return { onNode: order.node, ...(order.by !== undefined && { by: order.by }) };
    case 'finalize':
      return {};
    case 'join':
      return { nodeName: order.name, store: order.storeId, at: order.at };
    case 'recover': {
      const { name, from, acceptRevision } = order;
      return { database: name, onNode: from, ...(acceptRevision !== undefined && { acceptRevision }) };
    }
  }
}
