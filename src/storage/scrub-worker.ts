/**
 * The thread that verifies the tables of LevelDB and the sealed segments while the node runs, slowly enough not to
 * delay requests. See scrub-thread.ts for the other side.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { assert } from '#base';
import { toFailureMessage } from './log-messages.ts';
import type { FromScrub, ScrubPace, StartScrub } from './scrub-messages.ts';
import { historiesIn } from './segments/histories.ts';
import { scrubSegments } from './segments/segment-scrub.ts';
import { type ScrubStep, TableScrub } from './table-scrub.ts';

const MS_PER_SECOND = 1000;
type TryStep = () => ScrubStep | 'not-now' | undefined;

const BEHIND_POLL_MS = 250;

/** Between two messages about what was verified, while there is something to do. */
const REPORT_MS = 1000;

assert(parentPort !== null, 'The scrub worker is started as a thread');
const port: MessagePort = parentPort;
port.once('message', (order: StartScrub) => {
  run(order).catch((failure: unknown) => post({ kind: 'failed', failure: toFailureMessage(failure) }));
});

async function run({ directory, seen, pace }: StartScrub): Promise<void> {
  const scrub = new TableScrub(directory, seen);
  for (;;) {
    const tryStep = stepper(scrub, historiesIn(directory), pace.pollMs);
    const endMs = performance.now() + pace.roundMs;
    while (!(await finish(tryStep, pace))) await delay(pace.pollMs);
    post({ kind: 'verified', bytes: 0, isWholeRound: true });
    while (performance.now() < endMs) {
      await delay(Math.min(pace.pollMs, endMs - performance.now()));
      await finish(tryStep, pace);
    }
    scrub.beginRound();
  }
}

/**
 * Verifies what there is to verify, and reports it. False when a file could not be opened and has to be tried again.
 */
async function finish(tryStep: TryStep, pace: ScrubPace): Promise<boolean> {
  let bytes = 0;
  let reportedMs = performance.now();
  const report = (): void => {
    if (bytes > 0) post({ kind: 'verified', bytes, isWholeRound: false });
    bytes = 0;
    reportedMs = performance.now();
  };
  let step = tryStep();
  for (; step !== undefined && step !== 'not-now'; step = tryStep()) {
    bytes += step.bytes;
    await delay(Math.ceil((step.bytes / rateOf(step, pace)) * MS_PER_SECOND));
    if (performance.now() - reportedMs >= REPORT_MS) report();
  }
  report();
  return step === undefined;
}

function rateOf({ look }: ScrubStep, pace: ScrubPace): number {
  // It takes space that LevelDB has given up.
  if (look === 'late') return Number.POSITIVE_INFINITY;
  return look === 'first' ? pace.firstLookBytes : pace.roundBytes;
}

/**
 * Steps through the tables, and then, once, through the segments of these histories. It looks for new tables once in
 * `pollMs` at most, more often as long as what LevelDB deletes takes space. A file that cannot be opened, as when there
 * are no descriptors left, says nothing about its contents.
 */
function stepper(scrub: TableScrub, histories: string, pollMs: number): TryStep {
  let segments = scrubSegments(histories);
  let nextLookMs = 0;
  return () => {
    try {
      if (performance.now() >= nextLookMs) {
        scrub.refresh();
        nextLookMs = performance.now() + (scrub.isBehind ? Math.min(pollMs, BEHIND_POLL_MS) : pollMs);
      }
      const step = scrub.step();
      if (step !== undefined) return step;
      const { done, value } = segments.next();
      if (done === true) return undefined;
      return value === 'not-now' ? value : { bytes: value, look: 'again' };
    } catch (failure) {
      if (!(failure instanceof Error && 'syscall' in failure)) throw failure;
      segments = scrubSegments(histories);
      return 'not-now';
    }
  };
}

function post(message: FromScrub): void {
  port.postMessage(message, []);
}
