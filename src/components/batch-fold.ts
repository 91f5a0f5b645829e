/**
 * Folds one batch of events through a guest.
 *
 * The host chooses the size of a batch, so neither the state nor the success of a fold may depend on it: a guest that
 * exceeds its fuel or memory over a thousand events may have enough for each. A batch that ends in a fault of the guest
 * is therefore folded again in parts, each with a new instance, down to single events.
 *
 * F5  The success and the result of a fold do not depend on batch sizes.
 */
import { ByteReader, decodeUtf8, quote } from '#base';
import {
  type CallLimits,
  type Executors,
  type FaultCode,
  type FoldOutcome,
  isList,
  isRecord,
  readValue,
  type TimeLimits,
  type Value,
  type ValueRecord,
} from '#wasm';
import type { RunnableArtifact } from './artifact-store.ts';
import { LENGTH_BYTES, split } from './event-batches.ts';
import { failed, failedBy, guestText } from './guest-failures.ts';
import type { ViewFailure } from './view-read.ts';

export interface GuestBounds {
  /** Limits of one call, for a batch or a query. */
  readonly limits: CallLimits;
  readonly time: TimeLimits;
}

export interface BatchFold {
  readonly executors: Pick<Executors, 'fold'>;
  readonly artifact: RunnableArtifact;
  readonly lane: string;
  readonly bounds: GuestBounds;
  /** Description of the view for guests of the SDK's shape. */
  readonly shown?: Value;
  /** True: other calls have priority. */
  readonly givesWay?: boolean | undefined;
  /** Aborts when the state is no longer needed. */
  readonly signal?: AbortSignal | undefined;
}

export interface GuestBatch {
  readonly state: Uint8Array;
  readonly events: Uint8Array;
  readonly count: number;
}

export type Folded = { readonly kind: 'state'; readonly state: Uint8Array } | ViewFailure;

/** Clock and seed of WASI, the same in every call of a fold. */
export const FOLD_WASI: { readonly timeNs: bigint; readonly seed: bigint } = { timeNs: 0n, seed: 0n };

/** Faults that may not occur with fewer events or with a new instance. */
const DIVIDED: ReadonlySet<FaultCode> = new Set([
  'Trap',
  'StackOverflow',
  'FuelExhausted',
  'MemoryLimit',
  'OutputTooLarge',
  // A guest without memory may also access an invalid address.
  'AbiViolation',
]);
/**
 * Maximum number of executors to try: the loss of an executor may be the fault of another call, and the state is kept
 * here.
 */
const LOST_MAX = 3;

export async function foldBatch(fold: BatchFold, batch: GuestBatch): Promise<Folded> {
  const outcome = await foldedAgainIfLost(fold, batch);
  if (outcome.kind === 'state') return outcome;
  if (outcome.kind === 'fault' && !DIVIDED.has(outcome.fault.code)) return failedBy(outcome.fault);
  // A refusal occurs again in the parts, which find the refused event.
  if (batch.count > 1) return foldParts(fold, batch, outcome.kind === 'fault' ? partsOf(outcome.fault.code) : 2);
  const again = outcome.kind === 'error' ? outcome : await foldedAgainIfLost(fold, batch);
  return again.kind === 'state' ? again : failedAt(eventIn(fold, batch), again);
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

/**
 * Number of parts; larger for fuel, so that a guest which also exhausts it on single events is found within seconds
 * instead of a minute.
 */
function partsOf(code: FaultCode): number {
  return code === 'FuelExhausted' ? 16 : 2;
}

function failedAt(event: string, outcome: Exclude<FoldOutcome, { readonly kind: 'state' }>): ViewFailure {
  if (outcome.kind === 'error') {
    return failed('WasmExecutionError', `The component refuses ${event}: ${guestText(outcome.message)}`);
  }
  const { fault } = outcome;
  return failedBy(DIVIDED.has(fault.code) ? { ...fault, message: `${fault.message} (${event})` } : fault);
}

/** Describes the only event of the batch for messages. In the SDK's shape its revision counts events. */
function eventIn({ artifact }: BatchFold, { events }: GuestBatch): string {
  const bytes = events.subarray(LENGTH_BYTES);
  const isOwn = artifact.binding.shape === 'own';
  const value = isOwn ? jsonIn(bytes) : readValue(new ByteReader(bytes));
  const event = isRecord(value) ? value : {};
  const at = isOwn ? `revision ${textOf(event['revision'])}, index ${textOf(event['index'])}` : ordinalIn(event);
  return `the event ${textOf(event['id'])} of type ${textOf(event['type'])} at ${at}`;
}

function jsonIn(bytes: Uint8Array): Value {
  const parsed: unknown = JSON.parse(decodeUtf8(bytes) ?? '{}');
  return isObject(parsed) ? parsed : undefined;
}

function isObject(value: unknown): value is ValueRecord {
  return typeof value === 'object' && value !== null;
}

function ordinalIn({ attributes }: ValueRecord): string {
  const pair = isList(attributes) ? attributes.find((each) => isList(each) && each[0] === 'revision') : undefined;
  const attribute = isList(pair) ? pair[1] : undefined;
  const ordinal = isRecord(attribute) ? attribute['val'] : undefined;
  return typeof ordinal === 'string' ? `revision ${ordinal}` : 'an unknown revision';
}

function textOf(value: Value): string {
  return typeof value === 'string' ? quote(value) : JSON.stringify(value);
}

async function foldedAgainIfLost(fold: BatchFold, { state, events }: GuestBatch): Promise<FoldOutcome> {
  const { executors, artifact, lane, bounds, shown, givesWay, signal } = fold;
  const call = { artifact, lane, ...bounds, wasi: FOLD_WASI, givesWay, signal, shown, state, events };
  let outcome = await executors.fold(call);
  for (let lost = 1; lost < LOST_MAX && isLost(outcome); lost++) outcome = await executors.fold(call);
  return outcome;
}

function isLost(outcome: FoldOutcome): boolean {
  return outcome.kind === 'fault' && outcome.fault.code === 'ExecutorLost';
}
