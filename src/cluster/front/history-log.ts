/** Logs what may have lost data: recovered databases, and divergence, lost entries and damage of replicas. */
import { toHex } from '#base';
import type { Logger } from '#observability';
import { RESTORE_HINT } from '#storage';
import type { HistoryNote } from '../link.ts';
import type { Node } from '../node.ts';
import type { Title } from '../refusals.ts';

export function historyLog(logger: Logger): (note: HistoryNote, title: Title) => void {
  return (note, title) => {
    if (note.kind === 'diverged') {
      const { group, leader, reason } = note;
      logger.error('replica-diverged', { group, of: title, leader, reason, advice: DIVERGED_ADVICE });
    } else if (note.kind === 'rebuilding') {
      const { group, fault } = note;
      if (fault === undefined) logger.info('database-rebuilding', { group, of: title });
      else logger.error('database-rebuilding', { group, of: title, error: new Error(fault) });
    } else if (note.kind === 'rebuilt') logger.info('database-rebuilt', { group: note.group, of: title });
    else if (note.kind === 'damaged') {
      const { group, fault, revision } = note;
      const error = new Error(fault);
      logger.error('database-damaged', { group, of: title, unreadable: revision, error, advice: DAMAGED_ADVICE });
    } else {
      const { group, node, acknowledged } = note;
      logger.warn('acknowledged-entries-lost', { group, of: title, peer: node, acknowledged, advice: LOST_ADVICE });
    }
  };
}

export function logRecoveries({ catalog }: Pick<Node, 'catalog'>, logger: Logger): void {
  catalog.onChange((change) => {
    if (change.kind !== 'created' || change.binding.recovery === undefined) return;
    const { name: database, databaseId, recovery } = change.binding;
    const { revision, chainHash } = recovery;
    const before = recovery.databaseId;
    logger.warn('database-recovered', { database, databaseId, before, revision, chainHash: toHex(chainHash) });
  });
}

const DIVERGED_ADVICE =
  'clients may have been answered from either history: the replica on this node is kept unchanged and not used; compare both, then replace this node (docs/operations/recovery.md)';
const DAMAGED_ADVICE = `the database is out of service on this node, because its events are damaged, too. Two other replicas replace this one by themselves. Without them: ${RESTORE_HINT}`;
const LOST_ADVICE =
  'the disk of that node was restored to an earlier state: it gets the entries again; never restore the data directory of a member';
