/**
 * A refusal that is kept for the look-up of its transaction (ADR 0142): the payload of its control record.
 *
 * ```
 * 16 bytes transaction_id | varint recorded_time_ms | u8 kind | varint count | (the first 16 of them)*
 * kind 1, violated    varint place, u8 1 min | 2 max | 3 range, + 4 with a selector, varint found,
 *                     varint revision, of a range its start, and varint end
 * kind 2, too broad   varint place
 * ```
 * The selector of a constraint is not kept: no reply contains it. The message of a reply is made when it is read.
 */
import { assert, ByteReader, ByteWriter, type ConstraintViolation, copyRange } from '#base';
import { ALL, type Constraint, decide } from '#model';
import { TRANSACTION_ID_BYTES } from './pending-transactions.ts';
import type { ControlRecord, LogPlace } from './record.ts';

/** Constraints of one refusal that are kept; the others are counted. */
const REFUSED_CONSTRAINTS_KEPT = 16;

export type RefusalCause =
  | { readonly kind: 'violated'; readonly violations: readonly ConstraintViolation[] }
  /** Places in the request, ascending. */
  | { readonly kind: 'too-broad'; readonly constraints: readonly number[] };

export interface KeptRefusal {
  /** Place of the refused entry in the log. */
  readonly place: LogPlace;
  readonly transactionId: Uint8Array;
  /** The leader's stamp. */
  readonly recordedTimeMs: number;
  /** Revision of the database when the transaction was refused. */
  readonly revision: number;
  readonly cause: RefusalCause;
  /** Number of constraints that refused it; the cause names the first of them. */
  readonly count: number;
}

/** A refusal to encode. Its cause names constraints by their index in `constraints`, those of the entry. */
export interface RefusalToKeep extends Omit<KeptRefusal, 'count' | 'place' | 'revision'> {
  readonly constraints: readonly Constraint[];
}

const CAUSE = { violated: 1, 'too-broad': 2 } as const;
const KINDS = ['min-revision', 'max-revision', 'revision-range'] as const;
const WITH_SELECTOR = 4;

export function encodeRefusal({ transactionId, recordedTimeMs, cause, constraints }: RefusalToKeep): Uint8Array {
  const row = new ByteWriter(64);
  row.bytes(transactionId);
  row.varint(recordedTimeMs);
  row.u8(CAUSE[cause.kind]);
  if (cause.kind === 'too-broad') {
    row.varint(cause.constraints.length);
    for (const index of cause.constraints.slice(0, REFUSED_CONSTRAINTS_KEPT)) row.varint(index);
  } else {
    row.varint(cause.violations.length);
    for (const { index, found } of cause.violations.slice(0, REFUSED_CONSTRAINTS_KEPT)) {
      const constraint = constraints[index];
      assert(constraint !== undefined, 'A violation is of a constraint of its entry', index);
      row.varint(index);
      writeViolated(row, constraint, found);
    }
  }
  return row.take();
}

function writeViolated(row: ByteWriter, constraint: Constraint, found: number): void {
  row.u8(KINDS.indexOf(constraint.kind) + 1 + (constraint.selector === undefined ? 0 : WITH_SELECTOR));
  row.varint(found);
  const isRange = constraint.kind === 'revision-range';
  row.varint(Number(isRange ? constraint.start : constraint.revision));
  if (isRange) row.varint(Number(constraint.end));
}

/** The transaction that a payload is of: a view into it. */
export function refusedTransaction(payload: Uint8Array): Uint8Array {
  return payload.subarray(0, TRANSACTION_ID_BYTES);
}

/** Undefined when the payload is none. */
export function readRefusal({ place, revision, payload }: ControlRecord): KeptRefusal | undefined {
  const row = new ByteReader(payload);
  const transactionId = copyRange(row.bytes(TRANSACTION_ID_BYTES));
  const recordedTimeMs = row.varint();
  const kind = row.u8();
  const count = row.varint();
  const kept = Math.min(count, REFUSED_CONSTRAINTS_KEPT);
  const cause = kind === CAUSE.violated ? readViolations(row, kept) : readPlaces(row, kept);
  if (cause === undefined || row.failed || row.left > 0 || kind !== CAUSE[cause.kind]) return undefined;
  return { place, transactionId, recordedTimeMs, revision, cause, count };
}

function readPlaces(row: ByteReader, count: number): RefusalCause {
  return { kind: 'too-broad', constraints: Array.from({ length: count }, () => row.varint()) };
}

/** Undefined for what no constraint refuses. */
function readViolations(row: ByteReader, count: number): RefusalCause | undefined {
  const violations: ConstraintViolation[] = [];
  for (let each = 0; each < count; each++) {
    const index = row.varint();
    const code = row.u8();
    const found = row.varint();
    const constraint = constraintOf(code, row);
    const violation = constraint && decide(constraint, found);
    if (violation === undefined) return undefined;
    violations.push({ index, ...violation });
  }
  return { kind: 'violated', violations };
}

function constraintOf(code: number, row: ByteReader): Constraint | undefined {
  const hasSelector = code > WITH_SELECTOR;
  const kind = KINDS[(hasSelector ? code - WITH_SELECTOR : code) - 1];
  // The message of a violation does not depend on the selector.
  const selector = hasSelector ? ALL : undefined;
  const first = row.varint();
  if (kind === undefined) return undefined;
  if (kind === 'revision-range') return { kind, start: first, end: row.varint(), selector };
  return { kind, revision: first, selector };
}
