/**
 * One batch of events through a guest.
 *
 * The host chooses how many events a call has, so no state may depend on it, and neither may it depend on that whether
 * there is one: a guest that runs out of fuel or memory over a thousand events may have enough for each. What ends in a
 * fault of the guest is called again by halves, each with an instance of its own, down to single events.
 *
 *   F5  Whether a fold succeeds, and with which bytes, does not depend on the bounds of its batches.
 */
import type { CallLimits, Executors, FaultCode, FoldOutcome, TimeLimits } from '#wasm';
import type { RunnableArtifact } from './artifact-store.ts';
import { halved } from './event-batches.ts';
import { type ViewFailure, viewFailure } from './view-read.ts';

export interface GuestBounds {
  /** Of one call: a batch, or a query. */
  readonly limits: CallLimits;
  readonly time: TimeLimits;
}

export interface BatchFold {
  readonly executors: Pick<Executors, 'fold'>;
  readonly artifact: RunnableArtifact;
  readonly lane: string;
  readonly bounds: GuestBounds;
}

export interface GuestBatch {
  readonly state: Uint8Array;
  readonly events: Uint8Array;
  readonly count: number;
}

export type Folded = { readonly kind: 'state'; readonly state: Uint8Array } | ViewFailure;

/** The WASI of a fold says the same to each of its calls. */
export const FOLD_WASI: { readonly timeNs: bigint; readonly seed: bigint } = { timeNs: 0n, seed: 0n };

/** Faults that a call with fewer events, or with an instance that was not called before, may not have. */
const DIVIDED: ReadonlySet<FaultCode> = new Set([
  'Trap',
  'StackOverflow',
  'FuelExhausted',
  'MemoryLimit',
  'OutputTooLarge',
]);
/** An executor that is lost was not lost by this call alone: the state is here, so the batch goes to the next one. */
const LOST_MAX = 3;

export async function foldBatch(fold: BatchFold, batch: GuestBatch): Promise<Folded> {
  const outcome = await patiently(fold, batch);
  if (outcome.kind === 'state') return outcome;
  if (outcome.kind === 'error') return viewFailure('WasmExecutionError', `The component refuses: ${outcome.message}`);
  if (outcome.fault.code === 'Busy') return viewFailure('Busy', outcome.fault.message);
  if (!DIVIDED.has(outcome.fault.code)) return failed(outcome.fault);
  if (batch.count > 1) return foldHalves(fold, batch);
  const again = await patiently(fold, batch);
  if (again.kind === 'state') return again;
  return again.kind === 'fault' ? failed(again.fault) : viewFailure('WasmExecutionError', again.message);
}

async function foldHalves(fold: BatchFold, { state, events, count }: GuestBatch): Promise<Folded> {
  const [first, second] = halved(events, count);
  const half = await foldBatch(fold, { state, events: first, count: count >> 1 });
  if (half.kind === 'failed') return half;
  return foldBatch(fold, { state: half.state, events: second, count: count - (count >> 1) });
}

async function patiently({ executors, artifact, lane, bounds }: BatchFold, batch: GuestBatch): Promise<FoldOutcome> {
  const { state, events } = batch;
  const call = { artifact, lane, ...bounds, wasi: FOLD_WASI, state, events };
  let outcome = await executors.fold(call);
  for (let lost = 1; lost < LOST_MAX && isLost(outcome); lost++) outcome = await executors.fold(call);
  return outcome;
}

function isLost(outcome: FoldOutcome): boolean {
  return outcome.kind === 'fault' && outcome.fault.code === 'ExecutorLost';
}

function failed({ code, message }: { readonly code: FaultCode; readonly message: string }): ViewFailure {
  return viewFailure('WasmExecutionError', `${code}: ${message}`);
}
