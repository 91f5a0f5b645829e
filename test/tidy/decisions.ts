/**
 * Rules about the records of decisions in docs/adr: their numbers, and status lines that agree with one another.
 *
 * ```
 *   Status: accepted, amends 0015, 0048 and 0051, amended by 0064
 *           proposed, accepted or superseded, then what the record does to others, and what others do to it
 * ```
 */
import { type Fault, type Tree, under } from './tree.ts';

const RECORD = /^docs\/adr\/\d{4}-/;
const RECORD_NUMBER = /^docs\/adr\/(\d{4})-/;
const STATUS = /^Status: (.*)$/m;

/** A status, then clauses: some words, and numbers as `0001`, `0001 and 0002`, or `0001, 0002 and 0003`. */
const FORM = /^(proposed|accepted|superseded)((?:,? [a-z ]+ \d{4}(?:(?:, \d{4})* and \d{4})?)*)$/;
const CLAUSE = /,? ([a-z ]+) (\d{4}(?:(?:, \d{4})* and \d{4})?)/g;

/** What a record says of another one, and what the other one says of it. In the order of a line. */
const INVERSE: ReadonlyMap<string, string> = new Map([
  ['by', 'supersedes'],
  ['supersedes', 'by'],
  ['amends', 'amended by'],
  ['amended by', 'amends'],
]);
const CLAUSES: readonly string[] = [...INVERSE.keys()];
/** What is said of earlier records; the others are said of later ones. */
const OF_EARLIER: ReadonlySet<string> = new Set(['supersedes', 'amends']);

/** Two records do not share a number. */
export function decisionNumbersAreUnique(tree: Tree): readonly Fault[] {
  const byNumber = Map.groupBy(under(tree, RECORD).keys(), (path) => numberOf(path));
  return [...byNumber].flatMap(([number, paths]) => (paths.length === 1 ? [] : [`${number}: ${paths.join(' and ')}`]));
}

/** A status line has one form, and what it says of another record the other one says of it; so does the text. */
export function decisionsAgree(tree: Tree): readonly Fault[] {
  const records = [...under(tree, RECORD)].map(([path, text]) => recordOf(path, text));
  const known = new Map(records.map((record) => [record.number, record]));
  return records.flatMap((record) => [
    ...record.faults,
    ...record.relations.flatMap((one) => disagreement(one, known)),
  ]);
}

interface Relation {
  readonly path: string;
  /** Who says it. */
  readonly from: string;
  readonly clause: string;
  /** Of whom. */
  readonly to: string;
}

interface Decision {
  readonly number: string;
  readonly relations: readonly Relation[];
  readonly faults: readonly Fault[];
}

function recordOf(path: string, text: string): Decision {
  const number = numberOf(path);
  const status = STATUS.exec(text)?.[1] ?? '';
  const clauses = FORM.test(status) ? clausesOf(status) : undefined;
  if (clauses === undefined || !isInOrder(status, clauses)) {
    const form = '"Status: accepted, amends 0001, 0002 and 0003, amended by 0005 and 0006", each list ascending';
    return { number, relations: [], faults: [`${path}: its status is "${status}"; the form is ${form}`] };
  }
  const relations = clauses.flatMap(({ clause, numbers }) =>
    numbers.map((to): Relation => ({ path, from: number, clause, to })),
  );
  const amended = new Set(relations.filter(({ clause }) => clause === 'amends').map(({ to }) => to));
  const faults = amendedInText(text)
    .filter((other) => !amended.has(other))
    .map((other) => `${path}: its text amends ${other}, its status line does not`);
  return { number, relations, faults };
}

interface Clause {
  readonly clause: string;
  readonly numbers: readonly string[];
}

function clausesOf(status: string): readonly Clause[] {
  return [...status.matchAll(CLAUSE)].map(([, clause = '', list = '']) => ({ clause, numbers: numbersIn(list) }));
}

function isInOrder(status: string, clauses: readonly Clause[]): boolean {
  const places = clauses.map(({ clause }) => CLAUSES.indexOf(clause));
  const isAscending = (list: readonly (number | string)[]): boolean =>
    list.every((item, n) => n === 0 || item > (list[n - 1] ?? item));
  return (
    places.every((place) => place >= 0) &&
    isAscending(places) &&
    status.startsWith('superseded') === places.includes(CLAUSES.indexOf('by')) &&
    clauses.every(({ numbers }) => isAscending(numbers))
  );
}

function disagreement({ path, from, clause, to }: Relation, known: ReadonlyMap<string, Decision>): readonly Fault[] {
  const inverse = INVERSE.get(clause);
  const other = known.get(to);
  if (other === undefined) return [`${path}: "${clause} ${to}": there is no such record`];
  if (OF_EARLIER.has(clause) !== to < from) return [`${path}: "${clause} ${to}": records change earlier ones`];
  const isMutual = other.relations.some((relation) => relation.clause === inverse && relation.to === from);
  return isMutual ? [] : [`${path}: "${clause} ${to}", of which ${to} says nothing ("${inverse} ${from}")`];
}

/** Of a sentence such as "This amends 0015 and 0048 for the bytes of replies." */
function amendedInText(text: string): readonly string[] {
  const list = /^This amends (\d{4}(?:(?:, \d{4})* and \d{4})?)/m.exec(text)?.[1];
  return list === undefined ? [] : numbersIn(list);
}

function numbersIn(list: string): readonly string[] {
  return list.match(/\d{4}/g) ?? [];
}

function numberOf(path: string): string {
  return RECORD_NUMBER.exec(path)?.[1] ?? '';
}
