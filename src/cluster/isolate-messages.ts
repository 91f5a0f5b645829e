/**
 * The messages between the front's isolate and the core's: the same commands and reports as of any link (link.ts), in
 * a form that is cheap to send.
 *
 * Proposals of a turn travel as one transferred buffer; so do the outcomes that are just numbers, which is nearly all
 * of them. Everything else is rare and is cloned as it is. All numbers are little-endian.
 *
 *   proposals   (f64 token | u32 group | u32 length | payload)*
 *   reads       (f64 token | f64 group)*
 *   applied     (f64 group | f64 revision)*
 *   committed   (f64 token | f64 revision | f64 basis | f64 recorded time in ms | f64 event count)*
 */
import { DatabaseError, type ErrorCode, type ErrorDetails, toGroupId, toRevision } from '#base';
import type {
  AppliedRevision,
  Commands,
  CreateRequest,
  DeleteRequest,
  Proposal,
  ReadRequest,
  Report,
  Settlement,
  Token,
} from './link.ts';
import type { CatalogChange } from './node.ts';
import type { Measures } from './observer.ts';
import type { Outcome } from './outcome.ts';

export interface CommandMessage {
  readonly proposals: ArrayBuffer | undefined;
  readonly reads: Float64Array<ArrayBuffer> | undefined;
  readonly creates: readonly CreateRequest[];
  readonly deletes: readonly DeleteRequest[];
  readonly follows: boolean;
}

/** Errors keep their class by being taken apart and put together again. */
export interface SentError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
}

type SentSettlement =
  | Exclude<Settlement, { readonly kind: 'refused' }>
  | { readonly kind: 'refused'; readonly token: Token; readonly error: SentError };

export interface ReportMessage {
  readonly committed: Float64Array<ArrayBuffer> | undefined;
  readonly applied: Float64Array<ArrayBuffer> | undefined;
  readonly others: readonly SentSettlement[];
  readonly catalog: readonly CatalogChange[];
  readonly measures: Measures;
}

type Committed = Extract<Outcome, { readonly kind: 'committed' }>;
type CommittedSettlement = { readonly token: Token; readonly outcome: Committed };

const PROPOSAL_HEADER_BYTES = 16;
const READ_NUMBERS = 2;
const APPLIED_NUMBERS = 2;
const COMMITTED_NUMBERS = 5;

export function packCommands({ proposals, reads, creates, deletes, follows }: Commands): CommandMessage {
  return {
    proposals: proposals.length === 0 ? undefined : packProposals(proposals),
    reads: reads.length === 0 ? undefined : Float64Array.from(reads.flatMap(({ token, group }) => [token, group])),
    creates,
    deletes,
    follows,
  };
}

/** The buffers of a message that are given away with it. */
export function commandTransfers({ proposals, reads }: CommandMessage): readonly ArrayBuffer[] {
  return [proposals, reads?.buffer].filter((buffer) => buffer !== undefined);
}

export function unpackCommands({ proposals, reads, creates, deletes, follows }: CommandMessage): Commands {
  return {
    proposals: proposals === undefined ? [] : unpackProposals(proposals),
    reads: reads === undefined ? [] : unpackReads(reads),
    creates,
    deletes,
    follows,
  };
}

export function packReport(report: Report, measures: Measures): ReportMessage {
  const committed: CommittedSettlement[] = [];
  const others: SentSettlement[] = [];
  for (const settlement of report.settlements) {
    if (settlement.kind === 'refused') others.push({ ...settlement, error: packError(settlement.error) });
    else if (isNumbersOnly(settlement)) committed.push(settlement);
    else others.push(settlement);
  }
  return {
    committed: committed.length === 0 ? undefined : packCommitted(committed),
    applied: report.applied.length === 0 ? undefined : packApplied(report.applied),
    others,
    catalog: report.catalog,
    measures,
  };
}

export function reportTransfers({ committed, applied }: ReportMessage): readonly ArrayBuffer[] {
  return [committed?.buffer, applied?.buffer].filter((buffer) => buffer !== undefined);
}

export function unpackReport({ committed, applied, others, catalog }: ReportMessage): Report {
  const settlements: Settlement[] = committed === undefined ? [] : unpackCommitted(committed);
  for (const other of others) {
    if (other.kind === 'refused') settlements.push({ ...other, error: unpackError(other.error) });
    else settlements.push(other);
  }
  return { catalog, applied: applied === undefined ? [] : unpackApplied(applied), settlements };
}

function packProposals(proposals: readonly Proposal[]): ArrayBuffer {
  let length = 0;
  for (const { payload } of proposals) length += PROPOSAL_HEADER_BYTES + payload.length;
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const { token, group, payload } of proposals) {
    view.setFloat64(at, token, true);
    view.setUint32(at + 8, group, true);
    view.setUint32(at + 12, payload.length, true);
    bytes.set(payload, at + PROPOSAL_HEADER_BYTES);
    at += PROPOSAL_HEADER_BYTES + payload.length;
  }
  return bytes.buffer;
}

/** The payloads are views of the buffer, which is the core's own now. */
function unpackProposals(buffer: ArrayBuffer): readonly Proposal[] {
  const view = new DataView(buffer);
  const proposals: Proposal[] = [];
  for (let at = 0; at < buffer.byteLength; ) {
    const length = view.getUint32(at + 12, true);
    proposals.push({
      token: view.getFloat64(at, true),
      group: toGroupId(view.getUint32(at + 8, true)),
      payload: new Uint8Array(buffer, at + PROPOSAL_HEADER_BYTES, length),
    });
    at += PROPOSAL_HEADER_BYTES + length;
  }
  return proposals;
}

function unpackReads(numbers: Float64Array): readonly ReadRequest[] {
  return rows(numbers, READ_NUMBERS, (at) => ({
    token: number(numbers, at),
    group: toGroupId(number(numbers, at + 1)),
  }));
}

function packApplied(applied: readonly AppliedRevision[]): Float64Array<ArrayBuffer> {
  return Float64Array.from(applied.flatMap(({ group, revision }) => [group, revision]));
}

function unpackApplied(numbers: Float64Array): readonly AppliedRevision[] {
  return rows(numbers, APPLIED_NUMBERS, (at) => ({
    group: toGroupId(number(numbers, at)),
    revision: toRevision(number(numbers, at + 1)),
  }));
}

function packCommitted(committed: readonly CommittedSettlement[]): Float64Array<ArrayBuffer> {
  const numbers = new Float64Array(committed.length * COMMITTED_NUMBERS);
  let at = 0;
  for (const { token, outcome } of committed) {
    numbers[at] = token;
    numbers[at + 1] = outcome.revision;
    numbers[at + 2] = outcome.basis;
    numbers[at + 3] = outcome.recordedTimeMs;
    numbers[at + 4] = outcome.eventCount;
    at += COMMITTED_NUMBERS;
  }
  return numbers;
}

function unpackCommitted(numbers: Float64Array): Settlement[] {
  return rows(numbers, COMMITTED_NUMBERS, (at) => ({
    kind: 'outcome',
    token: number(numbers, at),
    outcome: {
      kind: 'committed',
      revision: toRevision(number(numbers, at + 1)),
      basis: toRevision(number(numbers, at + 2)),
      recordedTimeMs: number(numbers, at + 3),
      eventCount: number(numbers, at + 4),
      storedIds: [],
    },
  }));
}

function isNumbersOnly(settlement: Settlement): settlement is Settlement & { readonly outcome: Committed } {
  if (settlement.kind !== 'outcome') return false;
  return settlement.outcome.kind === 'committed' && settlement.outcome.storedIds.length === 0;
}

function packError({ code, message, details }: DatabaseError): SentError {
  return { code, message, details };
}

function unpackError({ code, message, details }: SentError): DatabaseError {
  return new DatabaseError(code, message, { details });
}

function rows<Row>(numbers: Float64Array, width: number, row: (at: number) => Row): Row[] {
  return Array.from({ length: numbers.length / width }, (_, place) => row(place * width));
}

function number(numbers: Float64Array, at: number): number {
  return numbers[at] ?? Number.NaN;
}
