/** The thread that verifies rows and sealed segments of a running node; see scrub-thread.ts for the other side. */
import { setTimeout as delay } from 'node:timers/promises';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { assert } from '#base';
import { openLevelStore } from '#storage';
import { packFailure } from '../thread/core-thread-messages.ts';
import { type DamagedSegment, Scrub, type Verified } from './scrub.ts';
import type { FromScrub, ScrubOrder } from './scrub-thread.ts';

assert(parentPort !== null, 'The scrub worker is started as a thread');
const port: MessagePort = parentPort;
port.once('message', (order: ScrubOrder) => {
  const closing = new AbortController();
  port.once('message', () => closing.abort());
  run(order, closing.signal).catch((failure: unknown) => post({ kind: 'failed', failure: packFailure(failure) }));
});

async function run({ storeDirectory, pace }: ScrubOrder, signal: AbortSignal): Promise<void> {
  const kv = await openLevelStore(storeDirectory);
  const report = (verified: Verified): void => post({ kind: 'verified', verified });
  const damaged = ({ fault, revisions }: DamagedSegment): void =>
    post({ kind: 'damaged', failure: packFailure(fault), revisions });
  const pause = (delayMs: number): Promise<void> => delay(delayMs, undefined, { signal });
  try {
    await new Scrub({ kv, storeDirectory, pace, report, damaged, pause }).run();
  } catch (failure) {
    if (!signal.aborted) throw failure;
  } finally {
    await kv.close();
  }
  port.close();
}

function post(message: FromScrub): void {
  port.postMessage(message, []);
}
