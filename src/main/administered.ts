/** Records admin requests at the peer port in the audit log (docs/security.md, ADR 0135). */
import type { Administered } from '#cluster';
import { type AuditRecord, aboutAct, actOf } from '#service';

/** A client of the peer port may do everything, so it is recorded with its certificate or its address. */
export function recordOf({ order, asker, isPassedOn, refusal }: Administered): AuditRecord {
  const { address, certificate } = asker;
  return {
    act: actOf(order),
    principal: certificate === undefined ? 'peer-port' : `peer-certificate:${certificate}`,
    principalName: certificate ?? address,
    outcome: refusal === undefined ? 'done' : 'failed',
    ...(refusal !== undefined && { code: refusal.code }),
    about: {
      from: address,
      ...aboutAct(order),
      ...(isPassedOn && { passedOn: 'by a node' }),
      ...(refusal !== undefined && { why: refusal.reason }),
    },
  };
}
