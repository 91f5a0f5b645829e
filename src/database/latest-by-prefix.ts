/**
 * L of an alternative with prefixes, from the store: walks the heads that begin with a prefix, in slices.
 *
 * It reads rows only, so the writer must have flushed before, and must not apply anything until the answer is there. Its
 * cost is the count of heads that begin with the prefix, not the count of their events.
 */
import { encodeUtf8 } from '#base';
import type { Conjunction, TextMatch } from '#model';
import { type HeadFields, SUBJECT_TIP, TYPE_TIP } from './head.ts';
import { HEAD_KIND, type HeadKind } from './keys.ts';
import type { DatabaseReader } from './reader.ts';
import type { TipRow } from './small-rows.ts';
import { latestOfSubject, latestOfType } from './tips.ts';
import { walkHeads } from './walks.ts';

/** Ids that an attribute may have. Undefined: any. */
type IdSet = ReadonlySet<number> | undefined;

/** What an event of a subject must have besides. */
interface SubjectSets {
  readonly streams: IdSet;
  readonly sources: IdSet;
  readonly types: IdSet;
}

export async function latestByPrefix(reader: DatabaseReader, wanted: Conjunction): Promise<number> {
  const { subject } = wanted;
  if (subject !== undefined && subject.kind !== 'none') return latestOfSubjects(reader, wanted, subject);
  const ofWanted = (row: TipRow): number => (subject === undefined ? row.lastRevision : row.lastWithoutSubject);
  if (wanted.source === undefined && wanted.stream === undefined) {
    return latestAmong(headsOf(reader, HEAD_KIND.TYPE, wanted.type), ofWanted);
  }
  const lists =
    wanted.source === undefined
      ? headsOf(reader, HEAD_KIND.STREAM, wanted.stream)
      : headsOf(reader, HEAD_KIND.SOURCE, { kind: 'equals', value: wanted.source });
  if (wanted.type === undefined) return latestAmong(lists, ofWanted);
  const types = await idsOf(reader, HEAD_KIND.TYPE, wanted.type);
  return latestAmong(lists, (head) => latestOfTypes(reader, head, types, ofWanted));
}

async function latestOfSubjects(reader: DatabaseReader, wanted: Conjunction, subject: TextMatch): Promise<number> {
  const source: TextMatch | undefined =
    wanted.source === undefined ? undefined : { kind: 'equals', value: wanted.source };
  const sets = {
    streams: source === undefined && wanted.stream ? await idsOf(reader, HEAD_KIND.STREAM, wanted.stream) : undefined,
    sources: source && (await idsOf(reader, HEAD_KIND.SOURCE, source)),
    types: wanted.type && (await idsOf(reader, HEAD_KIND.TYPE, wanted.type)),
  };
  const isAny = sets.streams === undefined && sets.sources === undefined && sets.types === undefined;
  return latestAmong(headsOf(reader, HEAD_KIND.SUBJECT, subject), (head) =>
    isAny ? head.lastRevision : latestInSubject(reader, head, sets),
  );
}

async function latestAmong(
  heads: AsyncIterable<readonly HeadFields[]>,
  latestOf: (head: HeadFields) => number,
): Promise<number> {
  let latest = 0;
  for await (const slice of heads) for (const head of slice) latest = Math.max(latest, latestOf(head));
  return latest;
}

function latestOfTypes(
  reader: DatabaseReader,
  head: HeadFields,
  types: ReadonlySet<number>,
  ofWanted: (row: TipRow) => number,
): number {
  let latest = 0;
  if (head.spilled) {
    const read = (mask: number, ids: readonly number[]): TipRow | undefined => reader.tip(head.name, mask, ids);
    for (const id of types) latest = Math.max(latest, ofWanted(latestOfType(head, id, read)));
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

function latestInSubject(reader: DatabaseReader, head: HeadFields, sets: SubjectSets): number {
  let latest = 0;
  if (!head.spilled) {
    const { tips } = head;
    for (let at = 0; at < tips.length; at += SUBJECT_TIP) {
      const isIn = (set: IdSet, id: number | undefined): boolean => set === undefined || set.has(id ?? 0);
      if (!isIn(sets.streams, tips[at]) || !isIn(sets.sources, tips[at + 1])) continue;
      if (isIn(sets.types, tips[at + 2])) latest = Math.max(latest, tips[at + 3] ?? 0);
    }
    return latest;
  }
  const read = (mask: number, ids: readonly number[]): TipRow | undefined => reader.tip(head.name, mask, ids);
  for (const streamId of sets.streams ?? ANY) {
    for (const sourceId of sets.sources ?? ANY) {
      for (const typeId of sets.types ?? ANY) {
        latest = Math.max(latest, latestOfSubject(head, { streamId, sourceId, typeId }, read));
      }
    }
  }
  return latest;
}

const ANY: readonly number[] = [0];

async function idsOf(reader: DatabaseReader, kind: HeadKind, match: TextMatch): Promise<ReadonlySet<number>> {
  const ids = new Set<number>();
  for await (const slice of headsOf(reader, kind, match)) for (const head of slice) ids.add(head.id);
  return ids;
}

/** The heads that a match allows. */
async function* headsOf(
  reader: DatabaseReader,
  kind: HeadKind,
  match: TextMatch | undefined,
): AsyncGenerator<readonly HeadFields[]> {
  const term = encodeUtf8(match?.value ?? '');
  if (match?.kind === 'equals') {
    const head = reader.head({ kind, term });
    yield head === undefined ? [] : [head];
  } else yield* walkHeads(reader, { kind, prefix: term, at: Number.MAX_SAFE_INTEGER });
}
