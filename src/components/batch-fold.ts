/**
 * One batch of events through a guest.
 *
 * The host chooses how many events a call has, so no state may depend on it, and neither may it depend on that whether
 * there is one: a guest that runs out of fuel or memory over a thousand events may have enough for each. What ends in a
 * fault of the guest is called again in parts, each with an instance of its own, down to single events.
 *
 *   F5  Whether a fold succeeds, and with which bytes, does not depend on the bounds of its batches.
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
  /** Aborts when nobody wants the state any longer. */
  readonly signal?: AbortSignal | undefined;
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
  if (outcome.kind === 'fault' && !DIVIDED.has(outcome.fault.code)) return viewFault(outcome.fault);
  // A refusal is the same in parts, which find the event that is refused.
  if (batch.count > 1) return foldParts(fold, batch, outcome.kind === 'fault' ? partsOf(outcome.fault.code) : 2);
  const again = outcome.kind === 'error' ? outcome : await patiently(fold, batch);
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

/** Whoever spends its fuel on a single event as well is found out after a few seconds of a processor, not a minute. */
function partsOf(code: FaultCode): number {
  return code === 'FuelExhausted' ? 16 : 2;
}

function failedAt(event: string, outcome: Exclude<FoldOutcome, { readonly kind: 'state' }>): ViewFailure {
  if (outcome.kind === 'error') {
    return viewFailure('WasmExecutionError', `The component refuses ${event}: ${guestText(outcome.message)}`);
  }
  const { fault } = outcome;
  return viewFault(DIVIDED.has(fault.code) ? { ...fault, message: `${fault.message} (${event})` } : fault);
}

/** The only event of the batch, as messages show it. In the SDK's shape its revision counts events. */
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

async function patiently(fold: BatchFold, { state, events }: GuestBatch): Promise<FoldOutcome> {
  const { executors, artifact, lane, bounds, shown, givesWay, signal } = fold;
  const call = { artifact, lane, ...bounds, wasi: FOLD_WASI, givesWay, signal, shown, state, events };
  let outcome = await executors.fold(call);
  for (let lost = 1; lost < LOST_MAX && isLost(outcome); lost++) outcome = await executors.fold(call);
  return outcome;
}

function isLost(outcome: FoldOutcome): boolean {
  return outcome.kind === 'fault' && outcome.fault.code === 'ExecutorLost';
}
