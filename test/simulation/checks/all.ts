/** Every check of a history, each with its number in the list of DESIGN.md. */
import { pastTimesHaveTheirRevision } from './as-of.ts';
import { judgeNames, oldInstancesAreSilent } from './catalog.ts';
import type { Check, Judgement } from './check.ts';
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

type Numbered = readonly [number: number, check: Check];

const CHECKS: readonly Numbered[] = [
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
  [11, oldInstancesAreSilent],
  [12, nothingIsDenied],
  [13, acknowledgedIsKept],
  [14, recoveredIsKept],
  [14, whatWasBeforeIsSilent],
  [15, definitionsAreWhatWasDefined],
  [16, pastTimesHaveTheirRevision],
];

/** The one that may come to no verdict. */
const OF_NAMES = 11;

/** What is wrong, at most a few lines of each check; and of what nothing was found out. */
export function checkAll(evidence: Evidence): Judgement {
  const names = judgeNames(evidence);
  const ofNames: Numbered = [OF_NAMES, () => names.faults];
  const faults = [ofNames, ...CHECKS]
    .toSorted(([left], [right]) => left - right)
    .flatMap(([number, check]) =>
      check(evidence)
        .slice(0, FAULTS_MAX)
        .map((fault) => `check ${number}: ${fault}`),
    );
  return { faults, undecided: names.undecided.map((what) => `undecided by check ${OF_NAMES}: ${what}`) };
}

const FAULTS_MAX = 5;
