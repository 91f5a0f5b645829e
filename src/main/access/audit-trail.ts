/**
 * The audit log: opens the log that the settings name, and makes records of admin requests at the peer port
 * (docs/security.md, ADR 0135).
 */
import { appendFileSync } from 'node:fs';
import { DatabaseError, formatInstant, instantFromMs, messageOf } from '#base';
import { type Administered, wallClock } from '#cluster';
import type { Logger } from '#observability';
import { type AuditRecord, aboutAct, actOf } from '#service';
import type { Config } from '../settings/settings.ts';

/** Mode of the file: its lines show who administers what. */
const MODE = 0o600;

/** @throws DatabaseError when the settings name a file that cannot be written */
export function openAuditTrail(
  { auditLog, nodeName }: Pick<Config, 'auditLog' | 'nodeName'>,
  logger: Logger,
): (record: AuditRecord) => void {
  if (auditLog === 'off') return () => undefined;
  if (auditLog === 'log') return ({ about, ...record }) => logger.info('audit', { ...record, ...about });
  append(auditLog, '');
  return ({ about, ...record }) => {
    const time = formatInstant(instantFromMs(wallClock.nowMs()));
    const line = JSON.stringify({ time, node: nodeName, ...record, ...about });
    try {
      append(auditLog, `${line}\n`);
    } catch (error) {
      // The action was carried out, so its record goes to the log instead.
      logger.error('audit-not-written', { error, ...record, ...about });
    }
  };
}

/** Opens the file for each line, so that a rotated file is replaced by a new one. */
function append(file: string, text: string): void {
  try {
    appendFileSync(file, text, { mode: MODE });
  } catch (cause) {
    throw new DatabaseError('unavailable', `The file of audit-log cannot be written: ${messageOf(cause)}`, { cause });
  }
}

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
