/**
 * Encodes a report of the core (link.ts) for the front's thread at low cost.
 *
 * Nearly every report consists of numbers only: it is one array of them, and other values are added when there are any.
 * The counts of the parts come first, then the parts, in this order:
 *
 *   committed   (token | revision | basis | recorded time in ms | event count)*
 *   readable    (group | revision)*
 *   leaders     (group | node that leads, 0 for none)*
 *   admitted    token*
 */
import { DatabaseError, type ErrorCode, type ErrorDetails, type NodeId, toGroupId, toNodeId, toRevision } from '#base';
import type { GroupLeader, HistoryNote, ReadableRevision, Report, Settlement, Token } from '../link.ts';
import type { CatalogChange } from '../node.ts';
import type { Outcome } from '../outcome.ts';

type Numbers = Float64Array<ArrayBuffer>;

/** Only numbers, or everything. */
export type ReportMessage = Numbers | FullReport;

interface FullReport {
  readonly kind: 'report';
  readonly numbers: Numbers;
  readonly others: readonly SentSettlement[];
  readonly catalog: readonly CatalogChange[];
  readonly catalogIndex: number;
  readonly histories: readonly HistoryNote[];
}

type SentSettlement =
  | Exclude<Settlement, { readonly kind: 'refused' }>
  | { readonly kind: 'refused'; readonly token: Token; readonly error: SentError };

/** Errors are decomposed and rebuilt, so that they keep their class. */
interface SentError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
}

type CommittedSettlement = {
  readonly token: Token;
  readonly outcome: Extract<Outcome, { readonly kind: 'committed' }>;
};

const COUNTS = 4;
const COMMITTED_NUMBERS = 5;
const PAIR = 2;
const NO_NOTES: readonly HistoryNote[] = [];

export function packReport(report: Report): ReportMessage {
  const committed: CommittedSettlement[] = [];
  const others: SentSettlement[] = [];
  for (const settlement of report.settlements) {
    if (settlement.kind === 'refused') others.push({ ...settlement, error: packError(settlement.error) });
    else if (isNumbersOnly(settlement)) committed.push(settlement);
    else others.push(settlement);
  }
  const numbers = packNumbers(committed, report);
  const { catalog, catalogIndex, histories = NO_NOTES } = report;
  return others.length + catalog.length + histories.length === 0
    ? numbers
    : { kind: 'report', numbers, others, catalog, catalogIndex, histories };
}

export function unpackReport(message: ReportMessage): Report {
  if (message instanceof Float64Array) return unpackNumbers(message, []);
  const { numbers, others, catalog, catalogIndex, histories } = message;
  const more = histories.length > 0 && { histories };
  return { ...unpackNumbers(numbers, others.map(received)), catalog, catalogIndex, ...more };
}

function packNumbers(committed: readonly CommittedSettlement[], { readable, leaders, admitted }: Report): Numbers {
  const pairs = readable.length + leaders.length;
  const numbers = new Float64Array(COUNTS + committed.length * COMMITTED_NUMBERS + pairs * PAIR + admitted.length);
  numbers.set([committed.length, readable.length, leaders.length, admitted.length]);
  let at = COUNTS;
  for (const { token, outcome } of committed) {
    numbers[at] = token;
    numbers[at + 1] = outcome.revision;
    numbers[at + 2] = outcome.basis;
    numbers[at + 3] = outcome.recordedTimeMs;
    numbers[at + 4] = outcome.eventCount;
    at += COMMITTED_NUMBERS;
  }
  for (const { group, revision } of readable) at = putPair(numbers, at, group, revision);
  for (const { group, node } of leaders) at = putPair(numbers, at, group, node ?? 0);
  numbers.set(admitted, at);
  return numbers;
}

function putPair(numbers: Numbers, at: number, first: number, second: number): number {
  numbers[at] = first;
  numbers[at + 1] = second;
  return at + PAIR;
}

function unpackNumbers(numbers: Numbers, others: readonly Settlement[]): Report {
  const parts = new Parts(numbers);
  const settlements: Settlement[] = [];
  for (let left = parts.counts.committed; left > 0; left--) settlements.push(takeCommitted(parts));
  for (const other of others) settlements.push(other);
  const readable: ReadableRevision[] = [];
  for (let left = parts.counts.readable; left > 0; left--)
    readable.push({ group: toGroupId(parts.take()), revision: toRevision(parts.take()) });
  const leaders: GroupLeader[] = [];
  for (let left = parts.counts.leaders; left > 0; left--)
    leaders.push({ group: toGroupId(parts.take()), node: nodeOrNobody(parts.take()) });
  const admitted: Token[] = [];
  for (let left = parts.counts.admitted; left > 0; left--) admitted.push(parts.take());
  return { catalog: [], catalogIndex: 0, readable, leaders, admitted, settlements };
}

/** The numbers of a report, in sequence. */
class Parts {
  readonly counts: Record<'committed' | 'readable' | 'leaders' | 'admitted', number>;
  readonly #numbers: Numbers;
  #at = 0;

  constructor(numbers: Numbers) {
    this.#numbers = numbers;
    this.counts = { committed: this.take(), readable: this.take(), leaders: this.take(), admitted: this.take() };
  }

  take(): number {
    return this.#numbers[this.#at++] ?? Number.NaN;
  }
}

function takeCommitted(parts: Parts): Settlement {
  const token = parts.take();
  const revision = toRevision(parts.take());
  const basis = toRevision(parts.take());
  const recordedTimeMs = parts.take();
  const eventCount = parts.take();
  return {
    kind: 'outcome',
    token,
    outcome: { kind: 'committed', revision, basis, recordedTimeMs, eventCount, storedIds: [] },
  };
}

function nodeOrNobody(value: number): NodeId | undefined {
  return value === 0 ? undefined : toNodeId(value);
}

function isNumbersOnly(settlement: Settlement): settlement is Settlement & CommittedSettlement {
  if (settlement.kind !== 'outcome') return false;
  return settlement.outcome.kind === 'committed' && settlement.outcome.storedIds.length === 0;
}

function packError({ code, message, details }: DatabaseError): SentError {
  return { code, message, details };
}

function received(sent: SentSettlement): Settlement {
  if (sent.kind !== 'refused') return sent;
  const { code, message, details } = sent.error;
  return { ...sent, error: new DatabaseError(code, message, { details }) };
}
