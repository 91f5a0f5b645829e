/**
 * How to find the events of a selector without looking at the others. (Q4)
 *
 * The selector comes as alternatives, each of which asks at most one thing of each attribute:
 * ```
 * equal to a name, no subject    one posting list
 * prefix                         the union of the lists whose names begin so
 * an alternative                 the intersection of these, the shortest list leading
 * the selector                   the union of its alternatives
 * ```
 * A part that would cost more than it saves is left out of an intersection: every event that the others agree on is
 * then tested by its bytes (`exact` is false). And where a selector names more lists than a walk should hold, or the
 * range is so short that its pages say it all, the plan is to walk the pages and test each event.
 */
import { assert } from '#base';
import { type DatabaseReader, type HeadContent, walkHeads } from '#database';
import { type Conjunction, normalise, type Selector } from '#model';
import type { Bounds } from './bounds.ts';
import type { Hits } from './hits.ts';
import { listHits } from './list-hits.ts';
import { listsOf, type Prefix } from './lists.ts';
import { intersection, union } from './merged-hits.ts';

export type Plan =
  | { readonly kind: 'nothing' }
  /** Every event in the bounds is a candidate. */
  | { readonly kind: 'pages' }
  | HitsPlan;

export interface HitsPlan {
  readonly kind: 'hits';
  readonly hits: Hits;
  /** No more entries than these. */
  readonly countMax: number;
  /** False: entries are candidates, to be tested by the whole selector. */
  readonly exact: boolean;
}

/** Lists that one prefix may unite: each may hold a chunk of some kilobytes. */
const PREFIX_LISTS_MAX = 1024;
/** In a range of so few revisions, reading them is cheaper than finding the lists of a prefix. */
const PREFIX_REVISIONS_MIN = 64;
/** A list of so few entries needs no read beyond its head. */
const INLINE_ENTRIES = 64;
/** With so few candidates, testing them is cheaper than opening another list. */
const TESTED_MAX = 16;
/** With so few candidates, testing them is cheaper than finding the lists of a prefix. */
const PREFIX_TESTED_MAX = 256;
/** Testing a candidate costs about as much as walking so many entries of a list. */
const ENTRIES_PER_TEST = 64;

const NOTHING: Plan = { kind: 'nothing' };
const PAGES: Plan = { kind: 'pages' };

/** The heads are read when this is called, so call it after the revision of the bounds was applied. */
export async function planSelector(reader: DatabaseReader, selector: Selector, bounds: Bounds): Promise<Plan> {
  const plans: HitsPlan[] = [];
  for (const conjunction of normalise(selector)) {
    const plan = await planConjunction(reader, conjunction, bounds);
    if (plan.kind === 'pages') return PAGES;
    if (plan.kind === 'hits') plans.push(plan);
  }
  return plans.length === 0 ? NOTHING : unionOf(plans);
}

async function planConjunction(reader: DatabaseReader, conjunction: Conjunction, bounds: Bounds): Promise<Plan> {
  const { names, prefixes } = listsOf(conjunction);
  const plans: HitsPlan[] = [];
  for (const name of names) {
    const head = reader.head(name);
    if (head === undefined || !reaches(head, bounds)) return NOTHING;
    plans.push(planList(reader, head, bounds));
  }
  let exact = true;
  for (const prefix of prefixes) {
    // With a short list at hand, the lists that a prefix stands for need not be found.
    const isShort = plans.some((plan) => plan.countMax <= PREFIX_TESTED_MAX);
    const plan = isShort ? PAGES : await planPrefix(reader, prefix, bounds);
    if (plan.kind === 'nothing') return NOTHING;
    if (plan.kind === 'hits') plans.push(plan);
    else exact = false;
  }
  return plans.length === 0 ? PAGES : intersectionOf(plans, exact);
}

async function planPrefix(reader: DatabaseReader, { kind, prefix }: Prefix, bounds: Bounds): Promise<Plan> {
  if (bounds.last - bounds.first < PREFIX_REVISIONS_MIN) return PAGES;
  const plans: HitsPlan[] = [];
  for await (const heads of walkHeads(reader, { kind, prefix, at: bounds.last })) {
    for (const head of heads) if (reaches(head, bounds)) plans.push(planList(reader, head, bounds));
    if (plans.length > PREFIX_LISTS_MAX) return PAGES;
  }
  return plans.length === 0 ? NOTHING : unionOf(plans);
}

function planList(reader: DatabaseReader, head: HeadContent, bounds: Bounds): HitsPlan {
  return { kind: 'hits', hits: listHits(reader, head, bounds.ranks), countMax: head.count, exact: true };
}

function reaches(head: HeadContent, bounds: Bounds): boolean {
  return head.firstRevision <= bounds.last && head.lastRevision >= bounds.first;
}

function unionOf(plans: readonly HitsPlan[]): HitsPlan {
  return {
    kind: 'hits',
    hits: union(plans.map((plan) => plan.hits)),
    countMax: plans.reduce((sum, plan) => sum + plan.countMax, 0),
    exact: plans.every((plan) => plan.exact),
  };
}

function intersectionOf(plans: readonly HitsPlan[], exact: boolean): HitsPlan {
  const [shortest, ...longer] = plans.toSorted((a, b) => a.countMax - b.countMax);
  assert(shortest !== undefined, 'An intersection has one part or more');
  const most = shortest.countMax <= TESTED_MAX ? INLINE_ENTRIES : shortest.countMax * ENTRIES_PER_TEST;
  const used = [shortest, ...longer.filter((plan) => plan.countMax <= Math.max(INLINE_ENTRIES, most))];
  return {
    kind: 'hits',
    hits: intersection(used.map((plan) => plan.hits)),
    countMax: shortest.countMax,
    exact: exact && used.length === plans.length && used.every((plan) => plan.exact),
  };
}
