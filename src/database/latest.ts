/**
 * L of a selector: the revision of the latest event that matches it (SPEC-CONSTRAINTS, D4).
 *
 * A selector is evaluated in disjunctive normal form. Its L is the highest of its alternatives. One head and one of its
 * tips give L of an alternative of equalities. An alternative with a prefix needs every head that begins with it, and
 * so a walk over rows: latest-by-prefix.ts.
 */
import { encodeUtf8 } from '#base';
import type { Conjunction, TextMatch } from '#model';
import type { HeadFields } from './head.ts';
import { HEAD_KIND, type HeadKind } from './keys.ts';
import type { TipRow } from './small-rows.ts';
import { latestOfSubject, latestOfType } from './tips.ts';

/** Looks up heads and tips: in the writer's memory, or in the store. */
export interface HeadLookup {
  /** The head of a term; of "no subject" when the term is undefined. */
  head(kind: HeadKind, term: Uint8Array | undefined): HeadFields | undefined;
  tip(head: HeadFields, mask: number, ids: readonly number[]): TipRow | undefined;
}

/** True when the alternative has a prefix. */
export function hasPrefix({ stream, type, subject }: Conjunction): boolean {
  return stream?.kind === 'prefix' || type?.kind === 'prefix' || subject?.kind === 'prefix';
}

/** L of an alternative without prefixes. `revision` is that of the database: every transaction has an event. */
export function latestOf(wanted: Conjunction, lookup: HeadLookup, revision: number): number {
  const { stream, source, type, subject } = wanted;
  const typeHead = headOf(lookup, HEAD_KIND.TYPE, type);
  // A source implies its stream, so beside a source the stream is ignored.
  const list =
    source === undefined ? headOf(lookup, HEAD_KIND.STREAM, stream) : lookup.head(HEAD_KIND.SOURCE, encodeUtf8(source));
  const isListAsked = source !== undefined || stream !== undefined;
  if ((type !== undefined && typeHead === undefined) || (isListAsked && list === undefined)) return 0;

  if (subject?.kind === 'equals') {
    const head = headOf(lookup, HEAD_KIND.SUBJECT, subject);
    if (head === undefined) return 0;
    if (list === undefined && typeHead === undefined) return head.lastRevision;
    const sourceId = source === undefined ? 0 : (list?.id ?? 0);
    const streamId = source === undefined ? (list?.id ?? 0) : 0;
    const ids = { streamId, sourceId, typeId: typeHead?.id ?? 0 };
    return latestOfSubject(head, ids, (mask, tipIds) => lookup.tip(head, mask, tipIds));
  }

  const ofWanted = (row: TipRow): number => (subject === undefined ? row.lastRevision : row.lastWithoutSubject);
  if (list !== undefined && typeHead !== undefined) {
    return ofWanted(latestOfType(list, typeHead.id, (mask, ids) => lookup.tip(list, mask, ids)));
  }
  const only = list ?? typeHead;
  if (only !== undefined) return ofWanted(only);
  if (subject === undefined) return revision;
  return lookup.head(HEAD_KIND.SUBJECT, undefined)?.lastRevision ?? 0;
}

function headOf(lookup: HeadLookup, kind: HeadKind, match: TextMatch | undefined): HeadFields | undefined {
  return match === undefined ? undefined : lookup.head(kind, encodeUtf8(match.value));
}
