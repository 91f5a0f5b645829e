/** Logs on every node that a database was recovered, because data may be lost. */
import { toHex } from '#base';
import type { Logger } from '#observability';
import type { Node } from '../node.ts';

export function logRecoveries({ catalog }: Pick<Node, 'catalog'>, logger: Logger): void {
  catalog.onChange((change) => {
    if (change.kind !== 'created' || change.binding.recovery === undefined) return;
    const { name: database, databaseId, recovery } = change.binding;
    const { revision, chainHash } = recovery;
    const before = recovery.databaseId;
    logger.warn('database-recovered', { database, databaseId, before, revision, chainHash: toHex(chainHash) });
  });
}
