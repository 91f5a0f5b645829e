/**
 * Plans how to find the events of a selector without reading the others. (Q4)
 *
 * The heads of an alternative's lists, and their tips, give the latest event of its equalities: when it is outside the
 * bounds nothing is walked, however long the lists are, and no walk begins above it.
 *
 * The selector has alternatives, each with at most one condition per attribute:
 * ```
 * equal to a name, no subject    one posting list
 * prefix                         the union of the lists whose names have the prefix
 * an alternative                 the intersection of these, starting with the shortest list
 * the selector                   the union of its alternatives
 * ```
 * A part that would cost more than it saves is left out of an intersection, and every event of the others is tested on
 * its bytes (`exact` is false). When a selector names too many lists for one walk, or the history of a short range is
 * cheaper, the plan is to walk the history and test each event.
 */
import { assert, compareBytes } from '#base';
import {
  type DatabaseReader,
  equalitiesOf,
  type HeadContent,
  type HeadLookup,
  type Hits,
  latestOf,
  listHits,
  listsOf,
  type Prefix,
  walkHeads,
} from '#database';
import { type Conjunction, normalise, type Selector } from '#model';
import { type Bounds, historyCost, isEmpty, upTo } from './bounds.ts';
import { intersection, union } from './merged-hits.ts';

export type Plan =
  | { readonly kind: 'nothing' }
  /** Walks all events in the bounds and tests each. */
  | { readonly kind: 'history' }
  | HitsPlan;

export interface HitsPlan {
  readonly kind: 'hits';
  readonly hits: Hits;
  /** Maximum number of entries. */
  readonly countMax: number;
  /** Number of lists to walk… */
  readonly listCount: number;
  /** …and maximum number of their rows. */
  readonly rowsMax: number;
  /** False: entries are candidates, to be tested with the whole selector. */
  readonly exact: boolean;
}

/** Maximum lists of one prefix: each may hold a chunk of some kilobytes. */
const PREFIX_LISTS_MAX = 1024;
/** Maximum heads to read for them, unless walking the history costs less: nearly all may be of later names. */
const PREFIX_HEADS_MIN = 256;
const PREFIX_HEADS_MAX = 4096;
/** Up to so many revisions, reading them is cheaper than finding the lists of a prefix. */
const PREFIX_REVISIONS_MIN = 64;
/** A list of up to so many entries needs no read beyond its head; a row of a longer one has so many. */
const CHUNK_ENTRIES = 64;
/** Up to so many candidates, testing them is cheaper than opening another list. */
const TESTED_MAX = 32;
/** Up to so many candidates, testing them is cheaper than finding the lists of a prefix. */
const PREFIX_TESTED_MAX = 256;
/** Entries of a list that cost as much to walk as testing a candidate. */
const ENTRIES_PER_TEST = 64;

const NOTHING: Plan = { kind: 'nothing' };
const HISTORY: Plan = { kind: 'history' };

/** Reads the heads, so call it after the revision of the bounds was applied. */
export async function planSelector(reader: DatabaseReader, selector: Selector, bounds: Bounds): Promise<Plan> {
  const plans: HitsPlan[] = [];
  for (const conjunction of normalise(selector)) {
    const plan = await planConjunction(reader, conjunction, bounds);
    if (plan.kind === 'history') return HISTORY;
    if (plan.kind === 'hits') plans.push(plan);
  }
  return plans.length === 0 ? NOTHING : unionOf(plans);
}

async function planConjunction(reader: DatabaseReader, conjunction: Conjunction, whole: Bounds): Promise<Plan> {
  const { names, prefixes } = listsOf(conjunction);
  const heads: HeadContent[] = [];
  for (const name of names) {
    const head = reader.head(name);
    if (head === undefined || !reaches(head, whole)) return NOTHING;
    heads.push(head);
  }
  const bounds = upTo(whole, latestOf(equalitiesOf(conjunction), lookupIn(reader, heads), whole.last));
  if (isEmpty(bounds)) return NOTHING;
  const plans = heads.map((head) => planList(reader, head, bounds));
  let exact = true;
  for (const prefix of prefixes) {
    // With a short list available, the lists of a prefix are not needed.
    const isShort = plans.some((plan) => plan.countMax <= PREFIX_TESTED_MAX);
    const plan = isShort ? HISTORY : await planPrefix(reader, prefix, bounds);
    if (plan.kind === 'nothing') return NOTHING;
    if (plan.kind === 'hits') plans.push(plan);
    else exact = false;
  }
  return plans.length === 0 ? HISTORY : intersectionOf(plans, exact);
}

/** The heads and tips that were read already. */
function lookupIn(reader: DatabaseReader, heads: readonly HeadContent[]): HeadLookup {
  return {
    head: (kind, term) => heads.find(({ name }) => name.kind === kind && isSameTerm(name.term, term)),
    tip: ({ name }, mask, ids) => reader.tip(name, mask, ids),
  };
}

function isSameTerm(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return compareBytes(left, right) === 0;
}

async function planPrefix(reader: DatabaseReader, { kind, prefix }: Prefix, bounds: Bounds): Promise<Plan> {
  if (bounds.last - bounds.first < PREFIX_REVISIONS_MIN) return HISTORY;
  const plans: HitsPlan[] = [];
  let headCount = 0;
  let headsMax: number | undefined;
  for await (const heads of walkHeads(reader, { kind, prefix })) {
    for (const head of heads) if (reaches(head, bounds)) plans.push(planList(reader, head, bounds));
    headCount += heads.length;
    if (headCount <= PREFIX_HEADS_MIN) continue;
    headsMax ??= Math.min(PREFIX_HEADS_MAX, historyCost(reader, bounds));
    if (plans.length > PREFIX_LISTS_MAX || headCount > headsMax) return HISTORY;
  }
  return plans.length === 0 ? NOTHING : unionOf(plans);
}

function planList(reader: DatabaseReader, head: HeadContent, bounds: Bounds): HitsPlan {
  const hits = listHits(reader, head, bounds.ranks);
  // An inline list counts as a row too: walking it again reads the head again.
  const rowsMax = 1 + Math.ceil(head.count / CHUNK_ENTRIES);
  return { kind: 'hits', hits, countMax: head.count, listCount: 1, rowsMax, exact: true };
}

function reaches(head: HeadContent, bounds: Bounds): boolean {
  return head.firstRevision <= bounds.last && head.lastRevision >= bounds.first;
}

function unionOf(plans: readonly HitsPlan[]): HitsPlan {
  return {
    kind: 'hits',
    hits: union(plans.map((plan) => plan.hits)),
    countMax: sumOf(plans, (plan) => plan.countMax),
    listCount: sumOf(plans, (plan) => plan.listCount),
    rowsMax: sumOf(plans, (plan) => plan.rowsMax),
    exact: plans.every((plan) => plan.exact),
  };
}

function intersectionOf(plans: readonly HitsPlan[], exact: boolean): HitsPlan {
  const [shortest, ...longer] = plans.toSorted((a, b) => a.countMax - b.countMax);
  assert(shortest !== undefined, 'An intersection has one part or more');
  const most = shortest.countMax <= TESTED_MAX ? CHUNK_ENTRIES : shortest.countMax * ENTRIES_PER_TEST;
  const used = [shortest, ...longer.filter((plan) => plan.countMax <= Math.max(CHUNK_ENTRIES, most))];
  return {
    kind: 'hits',
    hits: intersection(used.map((plan) => plan.hits)),
    countMax: shortest.countMax,
    listCount: sumOf(used, (plan) => plan.listCount),
    rowsMax: sumOf(used, (plan) => plan.rowsMax),
    exact: exact && used.length === plans.length && used.every((plan) => plan.exact),
  };
}

function sumOf(plans: readonly HitsPlan[], number: (plan: HitsPlan) => number): number {
  return plans.reduce((sum, plan) => sum + number(plan), 0);
}
