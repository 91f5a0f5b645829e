/**
 * Tips: for every combination of attributes, the latest revision of an event that has them all (D4).
 *
 * The head of a stream or a source keeps, for each event type in it, the latest revision and the latest without a
 * subject. The head of a subject keeps the latest revision of each combination of stream, source and type. A source
 * belongs to one stream, so a stream beside a source restricts nothing. The list of events without a subject needs no
 * tips: the three other kinds have them.
 *
 * Beyond TIPS_MAX combinations a head spills permanently: every combination gets a row of its own, and for subjects
 * also every part of a combination that a selector can name.
 */
import { type HeadFields, SUBJECT_TIP, TIPS_MAX, TYPE_TIP } from './head.ts';
import type { LiveHead, LiveTip } from './live-head.ts';
import type { TipRow } from './small-rows.ts';

/** Bits of a tip row's mask: which ids follow it in the key, in this order. */
const MASK = { STREAM: 1, SOURCE: 2, TYPE: 4 } as const;

/** Other attributes that an event of a subject must have; 0 is "any". Ids start at 1. */
export interface SubjectTipQuery {
  readonly streamId: number;
  readonly sourceId: number;
  readonly typeId: number;
}

/** The tip row of a spilled head. */
export type TipReader = (mask: number, ids: readonly number[]) => TipRow | undefined;

const NOTHING: TipRow = { lastRevision: 0, lastWithoutSubject: 0 };

/** The same as `touchTypeTip` for a type that the head has a tip of; false when it has none, and nothing is done. */
export function touchKnownTypeTip(head: LiveHead, typeId: number, hasSubject: boolean): boolean {
  const { tips, lastRevision } = head;
  for (let at = 0; at < tips.length; at += TYPE_TIP) {
    if (tips[at] !== typeId) continue;
    tips[at + 1] = lastRevision;
    if (!hasSubject) tips[at + 2] = lastRevision;
    return true;
  }
  return false;
}

/** Remembers an event of this type in the list of a stream or a source. True when a tip row changed. */
export function touchTypeTip(head: LiveHead, typeId: number, hasSubject: boolean, read: TipReader): boolean {
  if (touchKnownTypeTip(head, typeId, hasSubject)) return false;
  const revision = head.lastRevision;
  if (!head.spilled) {
    const { tips } = head;
    if (tips.length < TIPS_MAX * TYPE_TIP) {
      tips.push(typeId, revision, hasSubject ? 0 : revision);
      return false;
    }
    spillTypeTips(head);
  }
  const tip = liveTip(head, MASK.TYPE, [typeId], read);
  const lastWithoutSubject = hasSubject ? tip.row.lastWithoutSubject : revision;
  change(tip, { lastRevision: revision, lastWithoutSubject });
  return true;
}

/** The latest event of this type in the list of a stream or a source. */
export function latestOfType(head: HeadFields, typeId: number, read: TipReader): TipRow {
  if (head.spilled) return read(MASK.TYPE, [typeId]) ?? NOTHING;
  const { tips } = head;
  for (let at = 0; at < tips.length; at += TYPE_TIP) {
    if (tips[at] === typeId) return { lastRevision: tips[at + 1] ?? 0, lastWithoutSubject: tips[at + 2] ?? 0 };
  }
  return NOTHING;
}

/** Remembers an event with these ids, all of them set, in the list of a subject. True when tip rows changed. */
export function touchSubjectTip(head: LiveHead, { streamId, sourceId, typeId }: SubjectTipQuery): boolean {
  const revision = head.lastRevision;
  if (!head.spilled) {
    const { tips } = head;
    for (let at = 0; at < tips.length; at += SUBJECT_TIP) {
      if (tips[at + 1] !== sourceId || tips[at + 2] !== typeId) continue;
      tips[at + 3] = revision;
      return false;
    }
    if (tips.length < TIPS_MAX * SUBJECT_TIP) {
      tips.push(streamId, sourceId, typeId, revision);
      return false;
    }
    spillSubjectTips(head);
  }
  touchSubjectTipRows(head, { streamId, sourceId, typeId }, revision);
  return true;
}

/** The latest event with these ids in the list of a subject; at least one of them is set. */
export function latestOfSubject(head: HeadFields, query: SubjectTipQuery, read: TipReader): number {
  if (head.spilled) {
    const { mask, ids } = subjectTipName(query);
    return read(mask, ids)?.lastRevision ?? 0;
  }
  const { streamId, sourceId, typeId } = query;
  let latest = 0;
  for (let at = 0; at < head.tips.length; at += SUBJECT_TIP) {
    if (streamId !== 0 && head.tips[at] !== streamId) continue;
    if (sourceId !== 0 && head.tips[at + 1] !== sourceId) continue;
    if (typeId !== 0 && head.tips[at + 2] !== typeId) continue;
    latest = Math.max(latest, head.tips[at + 3] ?? 0);
  }
  return latest;
}

function spillTypeTips(head: LiveHead): void {
  const { tips } = head;
  for (let at = 0; at < tips.length; at += TYPE_TIP) {
    const row = { lastRevision: tips[at + 1] ?? 0, lastWithoutSubject: tips[at + 2] ?? 0 };
    change(liveTip(head, MASK.TYPE, [tips[at] ?? 0], noRow), row);
  }
  head.spilled = true;
  head.tips = [];
}

function spillSubjectTips(head: LiveHead): void {
  const { tips } = head;
  for (let at = 0; at < tips.length; at += SUBJECT_TIP) {
    const ids = { streamId: tips[at] ?? 0, sourceId: tips[at + 1] ?? 0, typeId: tips[at + 2] ?? 0 };
    touchSubjectTipRows(head, ids, tips[at + 3] ?? 0);
  }
  head.spilled = true;
  head.tips = [];
}

/** Every part of the combination that a constraint can ask for. */
function touchSubjectTipRows(head: LiveHead, { streamId, sourceId, typeId }: SubjectTipQuery, revision: number): void {
  const any = 0;
  touchSubjectTipRow(head, { streamId, sourceId: any, typeId: any }, revision);
  touchSubjectTipRow(head, { streamId: any, sourceId, typeId: any }, revision);
  touchSubjectTipRow(head, { streamId: any, sourceId: any, typeId }, revision);
  touchSubjectTipRow(head, { streamId, sourceId: any, typeId }, revision);
  touchSubjectTipRow(head, { streamId: any, sourceId, typeId }, revision);
}

function touchSubjectTipRow(head: LiveHead, query: SubjectTipQuery, revision: number): void {
  const { mask, ids } = subjectTipName(query);
  // The row need not be read before it is written: revisions only grow. Only while spilling do several combinations
  // meet in one row, in any order.
  const tip = liveTip(head, mask, ids, noRow);
  if (revision >= tip.row.lastRevision) change(tip, { lastRevision: revision, lastWithoutSubject: 0 });
}

/** A source implies its stream. */
function subjectTipName({ streamId, sourceId, typeId }: SubjectTipQuery): Pick<LiveTip, 'mask' | 'ids'> {
  const ids: number[] = [];
  let mask = 0;
  if (sourceId !== 0) {
    mask = MASK.SOURCE;
    ids.push(sourceId);
  } else if (streamId !== 0) {
    mask = MASK.STREAM;
    ids.push(streamId);
  }
  if (typeId !== 0) {
    mask |= MASK.TYPE;
    ids.push(typeId);
  }
  return { mask, ids };
}

/** The tip of a spilled head as its writer keeps it; `read` fetches it the first time. */
export function liveTip(head: LiveHead, mask: number, ids: readonly number[], read: TipReader): LiveTip {
  head.tipRows ??= new Map();
  const name = `${mask}:${ids.join(':')}`;
  const known = head.tipRows.get(name);
  if (known !== undefined) return known;
  const tip: LiveTip = { mask, ids, row: read(mask, ids) ?? NOTHING, changed: false };
  head.tipRows.set(name, tip);
  return tip;
}

function change(tip: LiveTip, row: TipRow): void {
  tip.row = row;
  tip.changed = true;
}

function noRow(): undefined {
  return undefined;
}
