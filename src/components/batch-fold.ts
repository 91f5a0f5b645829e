/**
 * One batch of events through a guest.
 *
 * The host chooses how many events a call has, so no state may depend on it, and neither may it depend on that whether
 * there is one: a guest that runs out of fuel or memory over a thousand events may have enough for each. What ends in a
 * fault of the guest is called again in parts, each with an instance of its own, down to single events.
 *
 *   F5  Whether a fold succeeds, and with which bytes, does not depend on the bounds of its batches.
 */
import type { CallLimits, Executors, FaultCode, FoldOutcome, TimeLimits, Value } from '#wasm';
import type { RunnableArtifact } from './artifact-store.ts';
import { split } from './event-batches.ts';
import { guestText } from './guest-text.ts';
import { type ViewFailure, viewFailure, viewFault } from './view-read.ts';

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
  /** What a guest of the SDK's shape is told of its view. */
  readonly shown?: Value;
  /** True: others go first. */
  readonly givesWay?: boolean | undefined;
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
  // An allocator that takes more and more ends in an address that is not there.
  'AbiViolation',
]);
/** An executor that is lost was not lost by this call alone: the state is here, so the batch goes to the next one. */
const LOST_MAX = 3;

export async function foldBatch(fold: BatchFold, batch: GuestBatch): Promise<Folded> {
  const outcome = await patiently(fold, batch);
  if (outcome.kind === 'state') return outcome;
  if (outcome.kind === 'error') return refused(outcome.message);
  if (!DIVIDED.has(outcome.fault.code)) return viewFault(outcome.fault);
  if (batch.count > 1) return foldParts(fold, batch, partsOf(outcome.fault.code));
  const again = await patiently(fold, batch);
  if (again.kind === 'state') return again;
  return again.kind === 'fault' ? viewFault(again.fault) : refused(again.message);
}

async function foldParts(fold: BatchFold, { state, events, count }: GuestBatch, parts: number): Promise<Folded> {
  const partCount = Math.ceil(count / parts);
  let folded: Folded = { kind: 'state', state };
  let rest = events;
  for (let left = count; left > 0; left -= partCount) {
    const taken = Math.min(partCount, left);
    const [part, others] = split(rest, taken);
    folded = await foldBatch(fold, { state: folded.state, events: part, count: taken });
    if (folded.kind === 'failed') return folded;
    rest = others;
  }
  return folded;
}

/** Whoever spends its fuel on a single event as well is found out after a few seconds of a processor, not a minute. */
function partsOf(code: FaultCode): number {
  return code === 'FuelExhausted' ? 16 : 2;
}

function refused(message: string): ViewFailure {
  return viewFailure('WasmExecutionError', `The component refuses: ${guestText(message)}`);
}

async function patiently(fold: BatchFold, { state, events }: GuestBatch): Promise<FoldOutcome> {
  const { executors, artifact, lane, bounds, shown, givesWay } = fold;
  const call = { artifact, lane, ...bounds, wasi: FOLD_WASI, givesWay, shown, state, events };
  let outcome = await executors.fold(call);
  for (let lost = 1; lost < LOST_MAX && isLost(outcome); lost++) outcome = await executors.fold(call);
  return outcome;
}

function isLost(outcome: FoldOutcome): boolean {
  return outcome.kind === 'fault' && outcome.fault.code === 'ExecutorLost';
}
