/**
 * A report of the core (link.ts), and what it has measured since the last one, in a form that is cheap to send to the
 * front's thread.
 *
 * Nearly every report is just numbers: it is one array of them, and what can be no number goes along when there is any.
 * The counts of the parts come first, then the parts, in this order:
 *
 *   committed   (token | revision | basis | recorded time in ms | event count)*
 *   applied     (group | revision)*
 *   leaders     (group | node that leads, 0 if nobody)*
 *   admitted    token*
 *   syncs       (bytes | elapsed ms)*
 *   writes      (entries | elapsed ms)*
 *   the rest    elections | leaders followed | committed entries | open groups | groups that lead | groups that follow
 *               term | last index | committed index | applied index
 */
import { DatabaseError, type ErrorCode, type ErrorDetails, type NodeId, toGroupId, toNodeId, toRevision } from '#base';
import type { Report, Settlement, Token } from './link.ts';
import type { CatalogChange } from './node.ts';
import type { CoreLevels, Measures } from './observer.ts';
import type { Outcome } from './outcome.ts';

type Numbers = Float64Array<ArrayBuffer>;

/** Numbers alone, or everything. */
export type ReportMessage = Numbers | FullReport;

interface FullReport {
  readonly kind: 'report';
  readonly numbers: Numbers;
  readonly others: readonly SentSettlement[];
  readonly catalog: readonly CatalogChange[];
}

type SentSettlement =
  | Exclude<Settlement, { readonly kind: 'refused' }>
  | { readonly kind: 'refused'; readonly token: Token; readonly error: SentError };

/** Errors keep their class by being taken apart and put together again. */
interface SentError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
}

type CommittedSettlement = {
  readonly token: Token;
  readonly outcome: Extract<Outcome, { readonly kind: 'committed' }>;
};

const COUNTS = 6;
const COMMITTED_NUMBERS = 5;
const PAIR = 2;
const REST = 10;

export function packReport(report: Report, measures: Measures): ReportMessage {
  const committed: CommittedSettlement[] = [];
  const others: SentSettlement[] = [];
  for (const settlement of report.settlements) {
    if (settlement.kind === 'refused') others.push({ ...settlement, error: packError(settlement.error) });
    else if (isNumbersOnly(settlement)) committed.push(settlement);
    else others.push(settlement);
  }
  const numbers = packNumbers(committed, report, measures);
  return others.length + report.catalog.length === 0
    ? numbers
    : { kind: 'report', numbers, others, catalog: report.catalog };
}

export function unpackReport(message: ReportMessage): { readonly report: Report; readonly measures: Measures } {
  if (message instanceof Float64Array) return unpackNumbers(message, []);
  const { numbers, others, catalog } = message;
  const { report, measures } = unpackNumbers(numbers, others.map(received));
  return { report: { ...report, catalog }, measures };
}

function packNumbers(
  committed: readonly CommittedSettlement[],
  { applied, leaders, admitted }: Report,
  { syncs, writes, elections, followings, committed: entries, levels }: Measures,
): Numbers {
  const pairs = applied.length + leaders.length + syncs.length + writes.length;
  const numbers = new Float64Array(
    COUNTS + committed.length * COMMITTED_NUMBERS + pairs * PAIR + admitted.length + REST,
  );
  numbers.set([committed.length, applied.length, leaders.length, admitted.length, syncs.length, writes.length]);
  let at = COUNTS;
  for (const { token, outcome } of committed) {
    numbers[at] = token;
    numbers[at + 1] = outcome.revision;
    numbers[at + 2] = outcome.basis;
    numbers[at + 3] = outcome.recordedTimeMs;
    numbers[at + 4] = outcome.eventCount;
    at += COMMITTED_NUMBERS;
  }
  for (const { group, revision } of applied) at = putPair(numbers, at, group, revision);
  for (const { group, node } of leaders) at = putPair(numbers, at, group, node ?? 0);
  numbers.set(admitted, at);
  at += admitted.length;
  for (const { bytes, elapsedMs } of syncs) at = putPair(numbers, at, bytes, elapsedMs);
  for (const { entryCount, elapsedMs } of writes) at = putPair(numbers, at, entryCount, elapsedMs);
  const { openGroups, ledGroups, followedGroups, term, lastIndex, committedIndex, appliedIndex } = levels;
  const groups = [openGroups, ledGroups, followedGroups];
  numbers.set([elections, followings, entries, ...groups, term, lastIndex, committedIndex, appliedIndex], at);
  return numbers;
}

function putPair(numbers: Numbers, at: number, first: number, second: number): number {
  numbers[at] = first;
  numbers[at + 1] = second;
  return at + PAIR;
}

function unpackNumbers(
  numbers: Numbers,
  others: readonly Settlement[],
): { readonly report: Report; readonly measures: Measures } {
  let at = 0;
  const take = (): number => numbers[at++] ?? Number.NaN;
  const rows = <Row>(count: number, row: () => Row): Row[] => Array.from({ length: count }, row);
  const [committedCount, appliedCount, leaderCount, admittedCount] = [take(), take(), take(), take()];
  const [syncCount, writeCount] = [take(), take()];
  const settlements = rows<Settlement>(committedCount, () => ({
    kind: 'outcome',
    token: take(),
    outcome: {
      kind: 'committed',
      revision: toRevision(take()),
      basis: toRevision(take()),
      recordedTimeMs: take(),
      eventCount: take(),
      storedIds: [],
    },
  }));
  for (const other of others) settlements.push(other);
  const applied = rows(appliedCount, () => ({ group: toGroupId(take()), revision: toRevision(take()) }));
  const leaders = rows(leaderCount, () => ({ group: toGroupId(take()), node: nodeOrNobody(take()) }));
  const admitted = rows(admittedCount, take);
  const syncs = rows(syncCount, () => ({ bytes: take(), elapsedMs: take() }));
  const writes = rows(writeCount, () => ({ entryCount: take(), elapsedMs: take() }));
  return {
    report: { catalog: [], applied, leaders, admitted, settlements },
    measures: {
      syncs,
      writes,
      elections: take(),
      followings: take(),
      committed: take(),
      levels: takeLevels(take),
    },
  };
}

function takeLevels(take: () => number): CoreLevels {
  const groups = { openGroups: take(), ledGroups: take(), followedGroups: take() };
  return { ...groups, term: take(), lastIndex: take(), committedIndex: take(), appliedIndex: take() };
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
