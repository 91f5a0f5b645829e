/** The list of all checks of a history, with their numbers in DESIGN.md. */
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

/** The check that may be undecided. */
const OF_NAMES = 11;

/** All problems, at most a few lines per check, and the undecided names. */
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
