/**
 * The payload of a log entry that carries a transaction.
 *
 * ```
 * u8 format = 1 | u8 kind = 1 or 7 | varint length | constraints | TransactionBody
 * constraints: (varint length | cairn.v1.Constraint)*
 * ```
 * Kind 7: a client may look the outcome up, so a refusal is kept (ADR 0142). The payload is opaque to Raft. Other kinds
 * belong to definitions (2 to 6) and to the catalog (16 and up); an unknown format or kind comes from a newer release,
 * and the group must stop instead of guessing.
 */
import { assert, ByteWriter, ProtoReader } from '#base';
import type { Constraint } from './constraint.ts';
import { readStoredConstraint, writeConstraint } from './constraint-wire.ts';
import {
  readTransactionBody,
  stampRecordedTime,
  type TransactionBody,
  type TransactionBodyView,
  writeTransactionBody,
} from './transaction-body.ts';

export const PAYLOAD_FORMAT = 1;
const KIND_TRANSACT = 1;
/** A transaction whose refusal is kept. */
const KIND_TRANSACT_KEPT = 7;
const HEAD_BYTES = 2;

export interface TransactPayload extends TransactionBody {
  readonly constraints: readonly Constraint[];
  /** True: a refusal is kept. Default false. */
  readonly keepsRefusal?: boolean;
}

/** Offsets into `bytes`. */
export interface TransactPayloadView {
  readonly bytes: Uint8Array;
  readonly keepsRefusal: boolean;
  readonly constraintsStart: number;
  readonly constraintsEnd: number;
  readonly body: TransactionBodyView;
}

/** Reused for all payloads, which are copied out of it. It keeps its largest size. */
const writer = new ByteWriter(64 * 1024);

/** The recorded time is 0 until `stampPayload`. */
export function encodeTransactPayload(payload: TransactPayload): Uint8Array {
  writer.reset();
  writer.u8(PAYLOAD_FORMAT);
  writer.u8(payload.keepsRefusal === true ? KIND_TRANSACT_KEPT : KIND_TRANSACT);
  const constraints = writer.beginLength();
  for (const constraint of payload.constraints) {
    const mark = writer.beginLength();
    writeConstraint(writer, constraint);
    writer.endLength(mark);
  }
  writer.endLength(constraints);
  writeTransactionBody(writer, payload);
  return writer.cut();
}

/** Writes the leader's time into a payload, in place. */
export function stampPayload(payload: Uint8Array, recordedTimeMs: number): void {
  const reader = constraintsReader(payload, 0, payload.length);
  stampRecordedTime(payload, reader.end, recordedTimeMs);
}

/** Reads what `encodeTransactPayload` wrote in `[from, to)`; other bytes are corrupt or of a newer release. */
export function readTransactPayload(
  bytes: Uint8Array,
  from: number = 0,
  to: number = bytes.length,
): TransactPayloadView {
  const { at, end } = constraintsReader(bytes, from, to);
  const keepsRefusal = bytes[from + 1] === KIND_TRANSACT_KEPT;
  return { bytes, keepsRefusal, constraintsStart: at, constraintsEnd: end, body: readTransactionBody(bytes, end, to) };
}

export function constraintsOf(payload: TransactPayloadView): readonly Constraint[] {
  const { bytes, constraintsStart, constraintsEnd } = payload;
  const constraints: Constraint[] = [];
  const reader = new ProtoReader(bytes, constraintsStart, constraintsEnd);
  while (!reader.done) {
    const start = reader.lengthDelimited();
    constraints.push(readStoredConstraint(bytes.subarray(start, reader.at)));
  }
  assert(!reader.failed, 'The constraints of a payload fill their length', [constraintsStart, constraintsEnd]);
  return constraints;
}

/** Fault in the format and kind of a payload that should be a transaction, or undefined. */
export function faultInHead(format: number | undefined, kind: number | undefined): string | undefined {
  if (format === PAYLOAD_FORMAT && (kind === KIND_TRANSACT || kind === KIND_TRANSACT_KEPT)) return undefined;
  return `its format ${format} and kind ${kind} are not ${PAYLOAD_FORMAT} and ${KIND_TRANSACT} or ${KIND_TRANSACT_KEPT}`;
}

/** Checks format and kind, and returns a reader over the constraints. The body begins at its end. */
function constraintsReader(bytes: Uint8Array, from: number, to: number): ProtoReader {
  const fault = faultInHead(bytes[from], bytes[from + 1]);
  assert(fault === undefined, 'The log entry is a transaction of a format that this release knows', fault);
  const reader = new ProtoReader(bytes, from + HEAD_BYTES, to);
  const start = reader.lengthDelimited();
  assert(!reader.failed, 'The constraints lie inside their payload', [from, to]);
  return new ProtoReader(bytes, start, reader.at);
}
