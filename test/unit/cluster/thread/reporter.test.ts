// Goal: a request that was proposed more than once is refused only when none of its attempts is an entry (C40). Method:
// a table.
import { expect, it } from 'vitest';
import { DatabaseError, toRevision } from '#base';
import type { TransactOutcome } from '#cluster';
import { Reporter } from '../../../../src/cluster/reporter.ts';

const unknown = new DatabaseError('unavailable', 'unknown', { details: { reason: 'OutcomeUnknown' } });
const full = new DatabaseError('storage_full', 'full', { details: { reason: 'DiskFull' } });
const revision = toRevision(3);
const VIOLATED: TransactOutcome = { kind: 'violated', revision, violations: [] };
const TOO_BROAD: TransactOutcome = { kind: 'too-broad', revision, constraints: [] };
const REPLAYED: TransactOutcome = { kind: 'replayed', revision };
const DELAYED = [true];
const ENTERED = [false];

it.each<[string, readonly boolean[], TransactOutcome | DatabaseError, string]>([
  ['a refusal', [], full, 'DiskFull'],
  ['a refusal after an attempt that is an entry', ENTERED, full, 'OutcomeUnknown'],
  ['a refusal after an attempt that may become one', DELAYED, full, 'OutcomeUnknown'],
  ['a violation', [], VIOLATED, 'violated'],
  ['a violation after an attempt that was an entry before', ENTERED, VIOLATED, 'violated'],
  ['a violation before an attempt that may become an entry', DELAYED, VIOLATED, 'OutcomeUnknown'],
  ['the same, with an entry between', [true, false], VIOLATED, 'OutcomeUnknown'],
  ['constraints that are too broad, in the same way', DELAYED, TOO_BROAD, 'OutcomeUnknown'],
  ['a recorded outcome, whatever was before', DELAYED, REPLAYED, 'replayed'],
])('the answer to a request claims only what is certain: %s', (_name, doubts, answer, said) => {
  const reporter = new Reporter(() => undefined);
  const told: (string | undefined)[] = [];
  reporter.onReport(({ settlements }) => {
    for (const each of settlements) {
      told.push(each.kind === 'refused' ? each.error.details.reason : each.kind === 'outcome' ? each.outcome.kind : '');
    }
  });
  const tell = (): void => {
    if (answer instanceof DatabaseError) reporter.refuse([7], answer);
    else reporter.settle([{ kind: 'outcome', token: 7, outcome: answer }]);
    reporter.flush();
  };
  for (const isDelayed of doubts) reporter.doubt(7, { error: unknown, isDelayed });
  tell();
  // The token belongs to another request now.
  tell();
  expect(told).toEqual([said, answer instanceof DatabaseError ? 'DiskFull' : answer.kind]);
});
