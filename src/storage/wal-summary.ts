/**
 * The summary that every segment begins with: the hard state and the checkpoint of every live group, and the ids of
 * all that ended. With it, an older segment is needed only for the entries in it.
 *
 * When a summary is read, it restates what the segments before it said, and the two must agree; only that of the first
 * segment that was kept is taken on trust, for there is nothing left to compare it with.
 */
import type { GroupId } from '#base';
import { type SealedBatch, sealRecords } from './batch-slab.ts';
import { isSameCheckpoint } from './checkpoint.ts';
import type { GroupLedger } from './group-ledger.ts';
import { type LogRecord, RecordWriter } from './log-records.ts';
import type { LogEnd } from './wal-format.ts';

/** The ledger as the batch after `previous`, the first one of this segment. */
export function sealSummary(ledger: GroupLedger, previous: LogEnd, segment: number): SealedBatch {
  const writer = new RecordWriter();
  writer.tombstones([...ledger.tombstones].toSorted((a, b) => a - b));
  for (const group of ledger.groupIds()) writer.groupSummary(ledger.summary(group), ledger.chain(group));
  return sealRecords(writer.take(), previous, segment);
}

/** Starts the ledger from the summary of the first segment; or says, as text, what is wrong with it. */
export function restoreSummary(records: readonly LogRecord[], ledger: GroupLedger): string | undefined {
  for (const record of records) {
    if (record.kind === 'group-summary') ledger.restore(record.summary, record.chain);
    else if (record.kind === 'tombstones') ledger.restoreTombstones(record.groups);
    else return `a ${record.kind} in the summary of a segment`;
  }
  return undefined;
}

/** Difference between the summary of a later segment and the segments before it; undefined when they agree. */
export function compareSummary(records: readonly LogRecord[], ledger: GroupLedger): string | undefined {
  const known = new Set<GroupId>(ledger.groupIds());
  for (const record of records) {
    if (record.kind === 'group-summary') {
      const { group } = record.summary;
      if (!known.delete(group) || !agrees(record, ledger))
        return `a summary of group ${group} that the log before it does not bear out`;
    } else if (record.kind === 'tombstones') {
      const ended = record.groups;
      if (ended.length !== ledger.tombstones.size || !ended.every((group) => ledger.tombstones.has(group))) {
        return 'a list of ended groups that the log before it does not bear out';
      }
    } else return `a ${record.kind} in the summary of a segment`;
  }
  return known.size === 0 ? undefined : `a summary without ${known.size} groups of the log before it`;
}

function agrees(record: LogRecord & { readonly kind: 'group-summary' }, ledger: GroupLedger): boolean {
  const { summary, chain } = record;
  const expected = ledger.summary(summary.group);
  return (
    chain === ledger.chain(summary.group) &&
    summary.lastIndex === expected.lastIndex &&
    summary.hardState.term === expected.hardState.term &&
    summary.hardState.vote === expected.hardState.vote &&
    isSameCheckpoint(summary.checkpoint, expected.checkpoint)
  );
}
