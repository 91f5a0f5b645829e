// Check 15: the definitions are the result of an independent ledger over the effective entries. Each entry was sent by
// a client, every acknowledged change is among them with the acknowledged result, and the bytes of referenced
// components exist.
import { toRevision } from '#base';
import { LEDGER_LIMITS } from '#database';
import type { DefinedVersion, DefinitionEntry } from '#model';
import { partOf } from '../../support/definition-entries.ts';
import { NaiveLedger } from '../../support/naive-ledger.ts';
import type { DefinitionTold } from '../history.ts';
import { type Check, forInstances, isSame, shown } from './check.ts';
import type { Evidence, FinalDatabase } from './evidence.ts';

type Outcome = DefinitionTold['outcome'];

export const definitionsAreWhatWasDefined: Check = (evidence) =>
  forInstances(evidence, ({ final }) =>
    final?.definitions === undefined ? [] : faultsIn(evidence, final, final.definitions),
  );

function faultsIn(
  { history }: Evidence,
  { name, databaseId, revision }: FinalDatabase,
  { records, versions, bytes }: NonNullable<FinalDatabase['definitions']>,
): readonly string[] {
  const ledger = new NaiveLedger(LEDGER_LIMITS);
  const made = records.map(({ entry, revision: at, recordedTimeMs }) => {
    const outcome = ledger.apply(entry, at, recordedTimeMs);
    return { text: textOf(entry), outcome };
  });
  const idle = made.filter(({ outcome }) => !isChange(outcome));
  const sent = new Set(history.definings.filter((each) => each.name === name).map(({ entry }) => textOf(entry)));
  const strange = made.filter(({ text }) => !sent.has(text));
  const told = history.definings.flatMap(({ entry, told: answer }) =>
    answer?.databaseId === databaseId && isChange(answer.outcome)
      ? [`${textOf(entry)} ${JSON.stringify(answer.outcome)}`]
      : [],
  );
  const expected = ledger.list(toRevision(revision));
  return [
    ...idle.map(({ text, outcome }) => `an entry that changes nothing is kept: ${text}, ${shown(outcome)}`),
    ...strange.map(({ text }) => `an entry that nobody has sent is kept: ${text}`),
    ...missing(
      told,
      made.map(({ text, outcome }) => `${text} ${JSON.stringify(outcome)}`),
    ).map((each) => `a change that was acknowledged is not kept, or not as it was answered: ${each}`),
    ...(isSame(versions, expected) ? [] : [`${shown(versions)} are listed instead of ${shown(expected)}`]),
    ...versions.flatMap((version) => bytesFault(version, bytes)),
  ];
}

/** Multiset difference: the first list without the elements of the second. */
function missing(wanted: readonly string[], held: readonly string[]): readonly string[] {
  const left = [...held];
  return wanted.filter((each) => {
    const at = left.indexOf(each);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

function isChange(outcome: Outcome): boolean {
  if (outcome.kind === 'defined' || outcome.kind === 'status-set') return outcome.isNew;
  return outcome.kind === 'part-taken' || outcome.kind === 'deleted' || outcome.kind === 'expired';
}

/** Components of clients have one part each. */
function bytesFault(
  { component, version }: DefinedVersion,
  bytes: ReadonlyMap<string, Uint8Array | undefined>,
): readonly string[] {
  const part = partOf(component, 0);
  const isThere = part.kind === 'part' && isSame(bytes.get(component.digest), part.bytes);
  return isThere ? [] : [`version ${version} names a component without its bytes: ${component.digest}`];
}

/** Without the bytes of a part, which are compared separately. */
function textOf(entry: DefinitionEntry): string {
  return JSON.stringify(sorted(entry.kind === 'part' ? { ...entry, bytes: undefined } : entry));
}

/** Canonical form, independent of the order of members. */
function sorted(value: unknown): unknown {
  if (value instanceof Map) return sorted(Object.fromEntries(value));
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, part]) => [key, sorted(part)] as const);
  return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
