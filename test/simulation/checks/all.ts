/** Every check of a history, each with its number in the list of DESIGN.md. */
import { catalogIsLinearizable, oldInstancesAreSilent } from './catalog.ts';
import type { Check } from './check.ts';
import { commitsHoldTheirConstraints, refusalsAreRight } from './constraints.ts';
import { definitionsAreWhatWasDefined } from './definitions.ts';
import { acknowledgedIsKept } from './durability.ts';
import type { Evidence } from './evidence.ts';
import { definiteFailuresLeaveNothing, transactionsCountOnce } from './idempotence.ts';
import { logIsWhole } from './log-is-whole.ts';
import { equalQuestionsHaveEqualAnswers, readsAgreeWithTheModel } from './reads.ts';
import { latestReadsAreLatest, nothingIsSeenTooEarly, writesFollowWhatWasSeen } from './real-time.ts';
import { recoveredIsKept, whatWasBeforeIsSilent } from './recovered.ts';
import { nothingIsDenied } from './refused-reads.ts';
import { readsKeepTheirFloor, sessionsNeverGoBack } from './sessions.ts';
import { subscribersGetEverything, subscriptionsAreComplete } from './subscriptions.ts';
import { timesNeverGoBack } from './times.ts';

const CHECKS: readonly (readonly [number: number, check: Check])[] = [
  [1, logIsWhole],
  [2, writesFollowWhatWasSeen],
  [3, latestReadsAreLatest],
  [3, nothingIsSeenTooEarly],
  [4, commitsHoldTheirConstraints],
  [4, refusalsAreRight],
  [5, transactionsCountOnce],
  [6, definiteFailuresLeaveNothing],
  [7, readsAgreeWithTheModel],
  [7, equalQuestionsHaveEqualAnswers],
  [8, sessionsNeverGoBack],
  [8, readsKeepTheirFloor],
  [9, subscriptionsAreComplete],
  [9, subscribersGetEverything],
  [10, timesNeverGoBack],
  [11, catalogIsLinearizable],
  [11, oldInstancesAreSilent],
  [12, nothingIsDenied],
  [13, acknowledgedIsKept],
  [14, recoveredIsKept],
  [14, whatWasBeforeIsSilent],
  [15, definitionsAreWhatWasDefined],
];

/** What is wrong, one line each, at most a few of each check. */
export function checkAll(evidence: Evidence): readonly string[] {
  return CHECKS.flatMap(([number, check]) =>
    check(evidence)
      .slice(0, FAULTS_MAX)
      .map((fault) => `check ${number}: ${fault}`),
  );
}

const FAULTS_MAX = 5;
