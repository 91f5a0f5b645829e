/**
 * A refusal that is kept for whoever looks its transaction up (ADR 0142), as its row has it.
 *
 * ```
 * u8 format = 1 | varint log index | varint term | 16 bytes transaction_id | varint recorded_time_ms | varint revision
 * u8 kind | varint count | (the first 16 of them)* | u32 CRC
 * kind 1, violated    varint place, u8 1 min | 2 max | 3 range, + 4 with a selector, varint found,
 *                     varint revision, of a range its start, and varint end
 * kind 2, too broad   varint place
 * ```
 * What a constraint selected is not kept: no answer says it. The words of an answer are made when it is read.
 */
import { assert, type ByteReader, ByteWriter, type ConstraintViolation, isLogIndex, isTerm } from '#base';
import { ALL, type Constraint, decide } from '#model';
import { copyRange } from './bytes-range.ts';
import { closeRow, openRow, sealRow, unexpectedRow } from './corruption.ts';
import { TRANSACTION_ID_BYTES } from './pending-transactions.ts';
import type { LogPlace } from './record.ts';

/** Of a database. */
export const REFUSALS_KEPT = 1000;

/** Constraints of one refusal that are kept; the others are counted. */
const REFUSED_CONSTRAINTS_KEPT = 16;

export type RefusalCause =
  | { readonly kind: 'violated'; readonly violations: readonly ConstraintViolation[] }
  /** Places in the request, ascending. */
  | { readonly kind: 'too-broad'; readonly constraints: readonly number[] };

export interface KeptRefusal {
  /** Of the entry that was refused. */
  readonly place: LogPlace;
  readonly transactionId: Uint8Array;
  /** The leader's stamp. */
  readonly recordedTimeMs: number;
  /** That of the database when it was refused. */
  readonly revision: number;
  readonly cause: RefusalCause;
  /** Of the constraints that refused it; the cause names the first of them. */
  readonly count: number;
}

/** What a row is made of: the constraints of the entry, which violations count in, tell the numbers. */
export interface RefusalToKeep extends Omit<KeptRefusal, 'count'> {
  readonly constraints: readonly Constraint[];
}

const FORMAT = 1;
const CAUSE = { violated: 1, 'too-broad': 2 } as const;
const KINDS = ['min-revision', 'max-revision', 'revision-range'] as const;
const WITH_SELECTOR = 4;

export function encodeRefusal({ place, transactionId, constraints, ...refusal }: RefusalToKeep): Uint8Array {
  const row = new ByteWriter(64);
  row.u8(FORMAT);
  row.varint(place.index);
  row.varint(place.term);
  row.bytes(transactionId);
  row.varint(refusal.recordedTimeMs);
  row.varint(refusal.revision);
  const { cause } = refusal;
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
  sealRow(row);
  return row.take();
}

function writeViolated(row: ByteWriter, constraint: Constraint, found: number): void {
  row.u8(KINDS.indexOf(constraint.kind) + 1 + (constraint.selector === undefined ? 0 : WITH_SELECTOR));
  row.varint(found);
  const isRange = constraint.kind === 'revision-range';
  row.varint(Number(isRange ? constraint.start : constraint.revision));
  if (isRange) row.varint(Number(constraint.end));
}

/** Throws when the row is corrupt. */
export function readRefusal(key: Uint8Array, value: Uint8Array): KeptRefusal {
  const row = openRow(key, value, FORMAT);
  const [index, term] = [row.varint(), row.varint()];
  const transactionId = copyRange(row.bytes(TRANSACTION_ID_BYTES));
  const [recordedTimeMs, revision] = [row.varint(), row.varint()];
  const kind = row.u8();
  const count = row.varint();
  const kept = Math.min(count, REFUSED_CONSTRAINTS_KEPT);
  const cause = kind === CAUSE.violated ? readViolations(row, kept) : readPlaces(row, kept);
  closeRow(key, row);
  const isKnown = kind === CAUSE[cause?.kind ?? 'violated'] && isLogIndex(index) && index > 0 && isTerm(term);
  if (cause === undefined || !isKnown) throw unexpectedRow(key, 'it is not a refusal');
  return { place: { index, term }, transactionId, recordedTimeMs, revision, cause, count };
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
  // What a violation says does not depend on which selector it was.
  const selector = hasSelector ? ALL : undefined;
  const first = row.varint();
  if (kind === undefined) return undefined;
  if (kind === 'revision-range') return { kind, start: first, end: row.varint(), selector };
  return { kind, revision: first, selector };
}
