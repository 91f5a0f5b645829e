/**
 * The heads of one database for its writer: found by the bytes of a term, created when they are new, and written when
 * they changed.
 *
 * Hot heads are cached in two generations. A lookup promotes a head to the young one; when the young one is full, and
 * only right after a flush has reached the store, it becomes the old one and the old one is dropped. A head with
 * changes that the store does not have yet was touched after that flush began, so it is never dropped.
 *
 * A new subject mostly has one event. Its head is not hot before it is looked up again; until then it is a fresh one
 * (fresh-heads.ts), which is forgotten when its row is in the store.
 */
import { ByteWriter, copyRange, decodeUtf8, encodeUtf8 } from '#base';
import type { KvBatch } from '#kv';
import { streamOfSource } from '#model';
import { putRow, unexpectedRow } from './corruption.ts';
import { FreshHeads } from './fresh-heads.ts';
import { readHead, writeFirstOfSubject, writeHead } from './head.ts';
import type { KeyFilter } from './key-filter.ts';
import { HASH_DOMAIN, KeyHash } from './key-hash.ts';
import { HEAD_KIND, type HeadKind, NO_SUBJECT_HEAD } from './keys.ts';
import { type FullChunk, LiveHead } from './live-head.ts';
import type { PendingId } from './pending-ids.ts';
import { PostingPlace } from './posting.ts';
import type { DatabaseReader } from './reader.ts';
import { type TipRow, writeTipRow } from './small-rows.ts';
import { liveTip, touchKnownTypeTip, touchSubjectTip, touchTypeTip } from './tips.ts';

/** One event of a transaction that is being indexed; the object is reused for the next transaction. */
export interface SkimmedEvent {
  /** Place of its length in the array that was read. */
  offset: number;
  idStart: number;
  idEnd: number;
  source: LiveHead;
  stream: LiveHead;
  type: LiveHead;
  /** The head of its subject, or of "no subject". */
  subject: LiveHead;
  hasSubject: boolean;
  /** Effective time. */
  seconds: number;
  nanos: number;
  /** Its entry among the ids of this flush, and the id when it is not the one in the bytes: given a step later. */
  id: PendingId | undefined;
  storedId: string | undefined;
}

/** Heads of one generation, and tip rows that one head keeps in memory across flushes. */
export const HEADS_KEPT: number = 8192;

/** The ids that the next new heads get. */
export interface NextIds {
  readonly nextStreamId: number;
  readonly nextTypeId: number;
  readonly nextSourceId: number;
}

export interface LiveHeadsOptions {
  readonly nextIds: NextIds;
  /** HEADS_KEPT, except in tests. */
  readonly headsKept: number;
}

/** Shared by all databases without heads, perhaps thousands; nothing is added to it. */
const NO_FRESH = new FreshHeads();
const NO_HEADS = new Map<number, LiveHead>();

export class LiveHeads {
  readonly #headsKept: number;
  readonly #reader: DatabaseReader;
  readonly #filter: KeyFilter;
  readonly #hash = new KeyHash();
  readonly #row = new ByteWriter();
  readonly #scratch = new PostingPlace();
  readonly #nextIds = new Map<HeadKind, number>();
  #young = new Map<number, LiveHead>();
  #old: Map<number, LiveHead> = NO_HEADS;
  #youngCount = 0;
  #fresh: FreshHeads = NO_FRESH;
  #freshInFlight: FreshHeads = NO_FRESH;
  #changed: LiveHead[] = [];
  #chunks: FullChunk[] = [];
  readonly #withTipRows = new Set<LiveHead>();
  #noSubject: LiveHead | undefined = undefined;

  constructor(reader: DatabaseReader, filter: KeyFilter, { nextIds, headsKept }: LiveHeadsOptions) {
    this.#headsKept = headsKept;
    this.#reader = reader;
    this.#filter = filter;
    this.#nextIds.set(HEAD_KIND.STREAM, nextIds.nextStreamId);
    this.#nextIds.set(HEAD_KIND.TYPE, nextIds.nextTypeId);
    this.#nextIds.set(HEAD_KIND.SOURCE, nextIds.nextSourceId);
  }

  get nextIds(): NextIds {
    return {
      nextStreamId: this.#nextIds.get(HEAD_KIND.STREAM) ?? 1,
      nextTypeId: this.#nextIds.get(HEAD_KIND.TYPE) ?? 1,
      nextSourceId: this.#nextIds.get(HEAD_KIND.SOURCE) ?? 1,
    };
  }

  /** The head of the term `[from, to)` of `bytes`; undefined when no event has it. */
  find(kind: HeadKind, bytes: Uint8Array, from: number, to: number): LiveHead | undefined {
    this.#hash.start(hashDomainOfHeads(kind));
    this.#hash.add(bytes, from, to);
    this.#hash.finish();
    const hash = this.#hash.high | 0;
    for (let head = this.#young.get(hash); head !== undefined; head = head.next) {
      if (head.kind === kind && head.isOf(bytes, from, to)) return head;
    }
    // Whatever is in memory is in the filter, too.
    if (!this.#filter.mayHold(this.#hash.high, this.#hash.low)) return undefined;
    const cached = this.#cachedAsOld({ kind, hash }, bytes, from, to);
    if (cached !== undefined) return cached;
    const fresh = kind === HEAD_KIND.SUBJECT ? this.#keptFresh(hash, bytes, from, to) : undefined;
    return fresh ?? this.#load(kind, bytes.subarray(from, to));
  }

  /** The head of the term, new if need be. */
  findOrMake(kind: HeadKind, bytes: Uint8Array, from: number, to: number): LiveHead {
    const found = this.find(kind, bytes, from, to);
    if (found !== undefined) return found;
    // `find` has left the hash of this very name.
    const { high, low } = this.#hash;
    this.#filter.add(high, low);
    if (kind === HEAD_KIND.SUBJECT) {
      if (this.#fresh === NO_FRESH) this.#fresh = new FreshHeads();
      return this.#fresh.add(high | 0, bytes, from, to);
    }
    const head = new LiveHead({ kind, term: copyRange(bytes, from, to) }, this.#takeId(kind));
    this.#keep(high | 0, head);
    return head;
  }

  /** The head of the events without a subject; undefined when there are none. */
  noSubject(): LiveHead | undefined {
    if (this.#noSubject === undefined) {
      const content = this.#reader.head(NO_SUBJECT_HEAD);
      if (content !== undefined) this.#noSubject = LiveHead.from(content, this.#reader.keys.head(NO_SUBJECT_HEAD));
    }
    return this.#noSubject;
  }

  noSubjectOrMake(): LiveHead {
    this.#noSubject ??= this.noSubject() ?? new LiveHead(NO_SUBJECT_HEAD, 0);
    return this.#noSubject;
  }

  /** The head of the stream that the source belongs to, new if need be. */
  streamOf(source: LiveHead): LiveHead {
    // The name is kept and not the head: a second way to a head would outlive the cache's idea of which one is alive.
    source.streamTerm ??= this.#streamTermOf(source);
    return this.findOrMake(HEAD_KIND.STREAM, source.streamTerm, 0, source.streamTerm.length);
  }

  #streamTermOf(source: LiveHead): Uint8Array {
    const text = decodeUtf8(source.term);
    const stream = text === undefined ? undefined : streamOfSource(text);
    if (stream === undefined) throw unexpectedRow(this.#reader.keys.head(source.name), 'it names no stream');
    return encodeUtf8(stream);
  }

  /** Notes that the head differs from its row. */
  noteChanged(head: LiveHead): void {
    if (head.changed) return;
    head.changed = true;
    this.#changed.push(head);
  }

  noteChunk(chunk: FullChunk): void {
    this.#chunks.push(chunk);
  }

  /** The tip row of a spilled head, with unflushed changes. */
  tip(head: LiveHead, mask: number, ids: readonly number[]): TipRow {
    this.#withTipRows.add(head);
    return liveTip(head, mask, ids, () => this.#storedTip(head, mask, ids)).row;
  }

  /** Notes an event in the tips of its lists, which it has been appended to. */
  touchTips(event: SkimmedEvent): void {
    const { source, stream, type, subject, hasSubject } = event;
    this.#touchTypeTip(source, type.id, hasSubject);
    this.#touchTypeTip(stream, type.id, hasSubject);
    if (!hasSubject) return;
    if (subject.isLent) {
      subject.setFirstTip(stream.id, source.id, type.id);
      return;
    }
    const ids = { streamId: stream.id, sourceId: source.id, typeId: type.id };
    if (touchSubjectTip(subject, ids)) this.#withTipRows.add(subject);
  }

  #touchTypeTip(head: LiveHead, typeId: number, hasSubject: boolean): void {
    // Nearly always, and then there is nothing to make.
    if (touchKnownTypeTip(head, typeId, hasSubject)) return;
    const read = (mask: number, ids: readonly number[]): TipRow | undefined => this.#storedTip(head, mask, ids);
    if (touchTypeTip(head, typeId, hasSubject, read)) this.#withTipRows.add(head);
  }

  #storedTip(head: LiveHead, mask: number, ids: readonly number[]): TipRow | undefined {
    return this.#reader.tip(head.name, mask, ids);
  }

  flushInto(batch: KvBatch): void {
    const { keys } = this.#reader;
    for (const { name, revision, index, row } of this.#chunks) putRow(batch, keys.chunk(name, revision, index), row);
    for (const head of this.#withTipRows) this.#flushTips(batch, head);
    for (const head of this.#changed) {
      this.#row.reset();
      this.#writeHead(head);
      putRow(batch, head.keyOf(keys), this.#row);
      head.changed = false;
    }
    this.#chunks = [];
    this.#changed = [];
    [this.#fresh, this.#freshInFlight] = [this.#freshInFlight, this.#fresh];
  }

  #writeHead(head: LiveHead): void {
    if (head.isLent) {
      writeFirstOfSubject(this.#row, head.tips, head.last, this.#scratch);
      return;
    }
    writeHead(this.#row, head);
    head.writeInline(this.#row, this.#scratch);
  }

  /** The last flush is in the store: heads that were not looked up lately may be evicted. */
  flushed(): void {
    this.#freshInFlight.clear();
    for (const head of this.#withTipRows) {
      if ((head.tipRows?.size ?? 0) > this.#headsKept) forgetUnchangedTips(head);
    }
    if (this.#youngCount < this.#headsKept) return;
    for (const head of this.#withTipRows) {
      if (!head.changed && !hasChangedTips(head)) this.#withTipRows.delete(head);
    }
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngCount = 0;
  }

  #flushTips(batch: KvBatch, head: LiveHead): void {
    for (const tip of head.tipRows?.values() ?? []) {
      if (!tip.changed) continue;
      this.#row.reset();
      writeTipRow(this.#row, tip.row);
      putRow(batch, this.#reader.keys.tip(head.name, tip.mask, tip.ids), this.#row);
      tip.changed = false;
    }
  }

  /** The head, if it is cached in the old generation; it is in the young one then. */
  #cachedAsOld(
    { kind, hash }: { readonly kind: HeadKind; readonly hash: number },
    bytes: Uint8Array,
    from: number,
    to: number,
  ): LiveHead | undefined {
    const chain = this.#old.get(hash);
    if (chain === undefined) return undefined;
    let head: LiveHead | undefined;
    // Promotion moves the whole chain: its members are few, and each must be reachable from one place only.
    this.#old.delete(hash);
    for (let each: LiveHead | undefined = chain; each !== undefined; ) {
      const next: LiveHead | undefined = each.next;
      this.#keep(hash, each);
      if (each.kind === kind && each.isOf(bytes, from, to)) head = each;
      each = next;
    }
    return head;
  }

  /** A fresh head of the current flush or of that in flight, kept from now on: it is likely to be looked up again. */
  #keptFresh(hash: number, bytes: Uint8Array, from: number, to: number): LiveHead | undefined {
    const head = this.#fresh.find(hash, bytes, from, to) ?? this.#freshInFlight.find(hash, bytes, from, to);
    if (head === undefined) return undefined;
    head.keep();
    this.#keep(hash, head);
    return head;
  }

  #keep(hash: number, head: LiveHead): void {
    head.next = this.#young.get(hash);
    this.#young.set(hash, head);
    this.#youngCount++;
  }

  #load(kind: HeadKind, term: Uint8Array): LiveHead | undefined {
    const name = { kind, term };
    const key = this.#reader.keys.head(name);
    const value = this.#reader.source.kv.get(key);
    if (value === undefined) return undefined;
    const head = LiveHead.from(readHead({ kind, term: copyRange(term) }, key, value), key);
    this.#keep(this.#hash.high | 0, head);
    return head;
  }

  #takeId(kind: HeadKind): number {
    const id = this.#nextIds.get(kind);
    if (id === undefined) return 0;
    this.#nextIds.set(kind, id + 1);
    return id;
  }
}

/** The domain that the names of these heads are hashed in. */
export function hashDomainOfHeads(kind: HeadKind): number {
  return HASH_DOMAIN.HEAD * 0x100 + kind;
}

function forgetUnchangedTips(head: LiveHead): void {
  for (const [name, tip] of head.tipRows ?? []) if (!tip.changed) head.tipRows?.delete(name);
}

function hasChangedTips(head: LiveHead): boolean {
  for (const tip of head.tipRows?.values() ?? []) if (tip.changed) return true;
  return false;
}
