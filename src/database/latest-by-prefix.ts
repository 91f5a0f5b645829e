/**
 * L of the alternatives with prefixes, from the store, within a bound (D4, D13). No row has the latest event of a
 * prefix, but rows have that of the equalities of the alternative: L is at most that, and 0 where that is 0. Within
 * these limits, L is searched in four steps, each of which is short where the others are long:
 *
 *   1  back from the newest event, a little: finds matches when many events match;
 *   2  back through the list of an equality, when it is short: finds them when few events may match;
 *   3  through the heads that begin with the prefixes: finds them when few heads match, however old they are;
 *   4  back through the list of an equality that is long, then back from the newest event again, further.
 *
 * An L that was not found lies between two revisions: at or above every match that was seen, and below every event that
 * was tested.
 *
 * Each step ends after a number of events, bytes or rows of all alternatives together. They follow from the log alone
 * (D8), and no time is measured, so every replica ends at the same place. It reads rows only, so the writer must have
 * flushed before, and must not apply anything until the answer is there.
 */
import { encodeUtf8 } from '#base';
import type { Conjunction, TextMatch } from '#model';
import { type HeadContent, type HeadFields, SUBJECT_TIP, TYPE_TIP } from './head.ts';
import { HEAD_KIND, type HeadKind } from './keys.ts';
import { type HeadLookup, latestOf } from './latest.ts';
import { ListedEvents } from './listed-events.ts';
import { equalitiesOf, listsOf } from './lists.ts';
import type { DatabaseReader } from './reader.ts';
import { type LookBackLimits, RecentEvents } from './recent-events.ts';
import type { TipRow } from './small-rows.ts';
import { latestOfSubject, latestOfType } from './tips.ts';
import { walkHeads } from './walks.ts';

/** Budget of one transaction for its prefix searches. It belongs to the entry's format (ADR 0008). */
export interface PrefixLimits {
  /** Step 1. */
  readonly near: LookBackLimits;
  /** Steps 2 and 4, in lists. */
  readonly listed: LookBackLimits;
  /** Step 3: heads and tip rows. A walk, and a head that is looked up, count more. */
  readonly rows: number;
  /** Step 4, without the events of step 1. */
  readonly far: LookBackLimits;
}

export const PREFIX_LIMITS: PrefixLimits = {
  near: { comparisons: 16, bytes: 128 * 1024 },
  listed: { comparisons: 256, bytes: 1024 * 1024 },
  rows: 2048,
  far: { comparisons: 512, bytes: 2 * 1024 * 1024 },
};

/** Opening an iterator costs about as much as reading this many rows by it. */
const WALK_ROWS = 8;

/** L lies between the two, or is both of them. */
export interface LatestBounds {
  readonly least: number;
  readonly most: number;
}

export interface PrefixQuestion {
  readonly alternatives: readonly Conjunction[];
  /** Revision of the database; everything up to it is in the store. */
  readonly revision: number;
  readonly limits: PrefixLimits;
}

/** An alternative, and the known bounds of its L. */
interface Search {
  readonly wanted: Conjunction;
  least: number;
  most: number;
}

/** In the order of the alternatives. */
export async function latestByPrefix(
  reader: DatabaseReader,
  { alternatives, revision, limits }: PrefixQuestion,
): Promise<readonly LatestBounds[]> {
  const searches = alternatives.map((wanted): Search => {
    return { wanted, least: 0, most: latestOfEqualities(reader, wanted, revision) };
  });
  const open = searches.filter(isOpen);
  const recent = new RecentEvents(
    reader,
    open.map(({ wanted }) => wanted),
    revision,
  );
  recent.lookBack(limits.near);
  noteRecent(open, recent);
  const listed = new ListedEvents(reader, { ...limits.listed, revision });
  const rows = new RowBudget(limits.rows);
  for (const search of open) {
    const list = isOpen(search) ? shortestListOf(reader, search.wanted) : undefined;
    if (list !== undefined && list.count <= listed.comparisonsLeft) await narrowByList(search, listed, list);
    if (isOpen(search)) await narrowByHeads(search, reader, rows);
  }
  if (!open.some(isOpen)) return searches;
  for (const search of open.filter(isOpen)) {
    const list = shortestListOf(reader, search.wanted);
    if (list !== undefined) await narrowByList(search, listed, list);
  }
  recent.lookBack(limits.far);
  noteRecent(open, recent);
  return searches;
}

function isOpen({ least, most }: Search): boolean {
  return least < most;
}

function settle(search: Search, latest: number): void {
  search.least = latest;
  search.most = latest;
}

function noteRecent(searches: readonly Search[], recent: RecentEvents): void {
  for (const [place, search] of searches.entries()) {
    if (!isOpen(search)) continue;
    const found = recent.found(place);
    if (found > 0) settle(search, found);
    else search.most = Math.min(search.most, recent.lookedDownTo);
  }
}

async function narrowByList(search: Search, listed: ListedEvents, list: HeadContent): Promise<void> {
  const { found, lookedDownTo } = await listed.lookBack(list, search.wanted);
  if (found > 0 || lookedDownTo === 0) settle(search, found);
  else search.most = Math.min(search.most, lookedDownTo);
}

async function narrowByHeads(search: Search, reader: DatabaseReader, rows: RowBudget): Promise<void> {
  const latest = await new PrefixWalk(reader, rows).latest(search.wanted);
  if (rows.isSpent) search.least = Math.max(search.least, latest);
  else settle(search, latest);
}

/** L of the alternative without its prefixes, which is an upper bound of its L. */
function latestOfEqualities(reader: DatabaseReader, wanted: Conjunction, revision: number): number {
  const lookup: HeadLookup = {
    head: (kind, term) => reader.head({ kind, term }),
    tip: ({ name }, mask, ids) => reader.tip(name, mask, ids),
  };
  return latestOf(equalitiesOf(wanted), lookup, revision);
}

/** The shortest list of an equality, which has every event of the alternative; undefined without equalities. */
function shortestListOf(reader: DatabaseReader, wanted: Conjunction): HeadContent | undefined {
  const heads = listsOf(wanted).names.flatMap((name) => reader.head(name) ?? []);
  return heads.toSorted((one, other) => one.count - other.count)[0];
}

/** Rows that may still be read. Once there were too few it stays spent: the result has skipped rows. */
class RowBudget {
  isSpent = false;
  #left: number;

  constructor(rows: number) {
    this.#left = rows;
  }

  take(rows: number): boolean {
    if (rows > this.#left) this.isSpent = true;
    if (!this.isSpent) this.#left -= rows;
    return !this.isSpent;
  }
}

/** Ids that an attribute may have. Undefined: any. */
type IdSet = ReadonlySet<number> | undefined;

/** Other attributes that an event of a subject must have. */
interface SubjectSets {
  readonly streams: IdSet;
  readonly sources: IdSet;
  readonly types: IdSet;
}

/** The walk for one alternative. When the budget is spent it returns the latest match that it has seen. */
class PrefixWalk {
  readonly #reader: DatabaseReader;
  readonly #rows: RowBudget;

  constructor(reader: DatabaseReader, rows: RowBudget) {
    this.#reader = reader;
    this.#rows = rows;
  }

  async latest(wanted: Conjunction): Promise<number> {
    const { subject } = wanted;
    if (subject !== undefined && subject.kind !== 'none') return this.#latestOfSubjects(wanted, subject);
    const ofWanted = (row: TipRow): number => (subject === undefined ? row.lastRevision : row.lastWithoutSubject);
    if (wanted.source === undefined && wanted.stream === undefined) {
      return this.#latestAmong(HEAD_KIND.TYPE, wanted.type, ofWanted);
    }
    const types = wanted.type && (await this.#idsOf(HEAD_KIND.TYPE, wanted.type));
    const ofList = (head: HeadFields): number =>
      types === undefined ? ofWanted(head) : this.#latestOfTypes(head, types, ofWanted);
    if (wanted.source === undefined) return this.#latestAmong(HEAD_KIND.STREAM, wanted.stream, ofList);
    return this.#latestAmong(HEAD_KIND.SOURCE, { kind: 'equals', value: wanted.source }, ofList);
  }

  async #latestOfSubjects(wanted: Conjunction, subject: TextMatch): Promise<number> {
    const source: TextMatch | undefined =
      wanted.source === undefined ? undefined : { kind: 'equals', value: wanted.source };
    const sets = {
      streams: source === undefined && wanted.stream ? await this.#idsOf(HEAD_KIND.STREAM, wanted.stream) : undefined,
      sources: source && (await this.#idsOf(HEAD_KIND.SOURCE, source)),
      types: wanted.type && (await this.#idsOf(HEAD_KIND.TYPE, wanted.type)),
    };
    const isAny = sets.streams === undefined && sets.sources === undefined && sets.types === undefined;
    return this.#latestAmong(HEAD_KIND.SUBJECT, subject, (head) =>
      isAny ? head.lastRevision : this.#latestInSubject(head, sets),
    );
  }

  #latestOfTypes(head: HeadFields, types: ReadonlySet<number>, ofWanted: (row: TipRow) => number): number {
    let latest = 0;
    if (head.spilled) {
      for (const id of types) {
        if (!this.#rows.take(1)) break;
        latest = Math.max(latest, ofWanted(latestOfType(head, id, this.#tipsOf(head))));
      }
      return latest;
    }
    const { tips } = head;
    for (let at = 0; at < tips.length; at += TYPE_TIP) {
      if (!types.has(tips[at] ?? 0)) continue;
      const row = { lastRevision: tips[at + 1] ?? 0, lastWithoutSubject: tips[at + 2] ?? 0 };
      latest = Math.max(latest, ofWanted(row));
    }
    return latest;
  }

  #latestInSubject(head: HeadFields, sets: SubjectSets): number {
    if (head.spilled) return this.#latestInSpilledSubject(head, sets);
    let latest = 0;
    const { tips } = head;
    for (let at = 0; at < tips.length; at += SUBJECT_TIP) {
      const isIn = (set: IdSet, id: number | undefined): boolean => set === undefined || set.has(id ?? 0);
      if (!isIn(sets.streams, tips[at]) || !isIn(sets.sources, tips[at + 1])) continue;
      if (isIn(sets.types, tips[at + 2])) latest = Math.max(latest, tips[at + 3] ?? 0);
    }
    return latest;
  }

  #latestInSpilledSubject(head: HeadFields, sets: SubjectSets): number {
    let latest = 0;
    const read = this.#tipsOf(head);
    for (const streamId of sets.streams ?? ANY) {
      for (const sourceId of sets.sources ?? ANY) {
        for (const typeId of sets.types ?? ANY) {
          if (!this.#rows.take(1)) return latest;
          latest = Math.max(latest, latestOfSubject(head, { streamId, sourceId, typeId }, read));
        }
      }
    }
    return latest;
  }

  #tipsOf({ name }: HeadFields): (mask: number, ids: readonly number[]) => TipRow | undefined {
    return (mask, ids) => this.#reader.tip(name, mask, ids);
  }

  async #idsOf(kind: HeadKind, match: TextMatch): Promise<ReadonlySet<number>> {
    const ids = new Set<number>();
    await this.#visit(kind, match, (head) => ids.add(head.id));
    return ids;
  }

  async #latestAmong(
    kind: HeadKind,
    match: TextMatch | undefined,
    latestIn: (head: HeadFields) => number,
  ): Promise<number> {
    let latest = 0;
    await this.#visit(kind, match, (head) => {
      latest = Math.max(latest, latestIn(head));
    });
    return latest;
  }

  /**
   * Visits the heads that a match allows, in the order of their terms, until the budget is spent. Each head is counted
   * singly, before its tips: the size of a slice depends on the store and must not change the result (D8).
   */
  async #visit(kind: HeadKind, match: TextMatch | undefined, visit: (head: HeadFields) => void): Promise<void> {
    if (!this.#rows.take(WALK_ROWS)) return;
    const term = encodeUtf8(match?.value ?? '');
    if (match?.kind === 'equals') {
      const head = this.#reader.head({ kind, term });
      if (head !== undefined) visit(head);
      return;
    }
    for await (const slice of walkHeads(this.#reader, { kind, prefix: term })) {
      for (const head of slice) {
        if (!this.#rows.take(1)) return;
        visit(head);
      }
    }
  }
}

const ANY: readonly number[] = [0];
