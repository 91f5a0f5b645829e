// Check 1: revisions 1 to N without a gap. Each has the events that a client sent with its transaction id, with the
// stored ids of the rule, and all form one chain of hashes.
import { createHash } from 'node:crypto';
import { type Check, forInstances, isSame, shown } from './check.ts';
import type { Evidence, FinalDatabase } from './evidence.ts';
import type { DatabaseModel } from './model.ts';

export const logIsWhole: Check = (evidence) =>
  forInstances(evidence, ({ final, model }) =>
    final === undefined
      ? []
      : [...contiguous(final), ...chained(final), ...sent(evidence, final), ...renamed(final, model)],
  );

function contiguous({ transactions, revision }: FinalDatabase): readonly string[] {
  const faults = transactions
    .filter((transaction, place) => transaction.revision !== place + 1)
    .map((transaction) => `revision ${transaction.revision} out of its place`);
  return transactions.length === revision ? faults : [...faults, `${transactions.length} of ${revision} revisions`];
}

function chained({ databaseId, rootId = databaseId, transactions, chainHash }: FinalDatabase): readonly string[] {
  let hash = createHash('sha256')
    .update(Buffer.from(rootId.replaceAll('-', ''), 'hex'))
    .digest();
  let totalEvents = 0;
  const faults: string[] = [];
  for (const transaction of transactions) {
    hash = createHash('sha256').update(hash).update(transaction.body).digest();
    totalEvents += transaction.events.length;
    if (hash.toString('hex') !== transaction.chainHash)
      faults.push(`the chain breaks at revision ${transaction.revision}`);
    if (totalEvents !== transaction.totalEvents) faults.push(`revision ${transaction.revision} counts other events`);
  }
  return hash.toString('hex') === chainHash
    ? faults
    : [...faults, 'the chain does not end at the hash of the database'];
}

function sent(evidence: Evidence, { name, transactions }: FinalDatabase): readonly string[] {
  return transactions.flatMap(({ revision, transactionId, events }) => {
    const attempts = (evidence.attempts.get(transactionId) ?? []).filter(({ request }) => request.name === name);
    const isSent = attempts.some(({ request }) => isSame(request.events, events));
    return isSent ? [] : [`revision ${revision} has events that nobody sent as ${transactionId}: ${shown(events)}`];
  });
}

function renamed({ transactions }: FinalDatabase, model: DatabaseModel): readonly string[] {
  return transactions.flatMap(({ revision, events, storedIds }) => {
    const expected = model
      .eventsOf(revision)
      .flatMap(({ id, index }) => (id === events[index]?.id ? [] : [[index, id] as const]));
    return isSame(expected, storedIds)
      ? []
      : [`revision ${revision} stores the ids ${shown(storedIds)} instead of ${shown(expected)}`];
  });
}
