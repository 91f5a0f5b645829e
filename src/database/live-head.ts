/**
 * A head in the writer's memory: changed by every event of its list, written once a flush.
 *
 * The newest entry stays unpacked in `last`, so that a list of one event, the common subject, packs nothing before it
 * is written. When CHUNK_ENTRIES entries are inline and another comes, they leave as one chunk: the borders of chunks
 * depend on the list alone, never on when it was flushed (D8).
 */
import { assert, ByteWriter, copyRange, NO_BYTES } from '#base';
import { CHUNK_ENTRIES, findNewest, type HeadContent, type HeadFields, SUBJECT_TIP, writeChunk } from './head.ts';
import { HEAD_KIND, type HeadKind, type HeadName, type RowKeys } from './keys.ts';
import { type PackedEntry, PostingPlace, writePosting } from './posting.ts';
import type { TipRow } from './small-rows.ts';

const PACKED_START_BYTES = 64;

/** A tip row of a spilled head, as the writer keeps it. */
export interface LiveTip {
  readonly mask: number;
  readonly ids: readonly number[];
  row: TipRow;
  /** It differs from its row in the store. */
  changed: boolean;
}

/** A full chunk on its way to its row. */
export interface FullChunk {
  readonly name: HeadName;
  /** Position of its last entry. */
  readonly revision: number;
  readonly index: number;
  /** Its content. */
  readonly row: ByteWriter;
}

export class LiveHead implements HeadFields {
  readonly kind: HeadKind;
  readonly id: number;
  firstRevision = 0;
  lastRevision = 0;
  lastWithoutSubject = 0;
  count = 0;
  spilled = false;
  tips: number[] = [];
  inlineCount = 0;
  readonly last: PostingPlace = new PostingPlace();

  /** True when it differs from its row, and so is in the writer's list of changed heads. */
  changed = false;
  /** The next head of the cache with the same hash. */
  next: LiveHead | undefined = undefined;
  /** The name of the stream, when the head is that of a source. */
  streamTerm: Uint8Array | undefined = undefined;
  /** The tip rows that were read or changed, by mask and ids, when the head is spilled. */
  tipRows: Map<string, LiveTip> | undefined = undefined;

  /** The inline entries before `last`. */
  #packed: ByteWriter | undefined = undefined;
  #packedLast: PostingPlace | undefined = undefined;

  /**
   * True for a subject with one event that was not looked up since: its term is a view of borrowed bytes. See `begin`.
   */
  isLent = false;
  #name: HeadName | undefined;
  /** The term is `#bytes[#from, #to)`. */
  #bytes: Uint8Array;
  #from = 0;
  #to: number;

  constructor(name: HeadName, id: number) {
    this.#name = name;
    this.kind = name.kind;
    this.id = id;
    this.#bytes = name.term ?? NO_BYTES;
    this.#to = this.#bytes.length;
  }

  get name(): HeadName {
    this.#name ??= { kind: this.kind, term: copyRange(this.#bytes, this.#from, this.#to) };
    return this.#name;
  }

  /** The term of `name`; empty for "no subject", which is never looked up by term. */
  get term(): Uint8Array {
    return this.name.term ?? NO_BYTES;
  }

  isOf(bytes: Uint8Array, from: number, to: number): boolean {
    const own = this.#bytes;
    const shift = this.#from - from;
    if (this.#to - this.#from !== to - from) return false;
    for (let at = from; at < to; at++) if (own[at + shift] !== bytes[at]) return false;
    return true;
  }

  /**
   * Turns the head of a subject into that of another, `bytes[from, to)`, whose first event is about to come. The bytes
   * are lent, until `keep()`.
   */
  begin(bytes: Uint8Array, from: number, to: number): void {
    assert(this.kind === HEAD_KIND.SUBJECT && !this.spilled, 'Heads of subjects are used again before they spill');
    this.isLent = true;
    this.#name = undefined;
    this.#bytes = bytes;
    this.#from = from;
    this.#to = to;
    this.firstRevision = 0;
    this.lastRevision = 0;
    this.lastWithoutSubject = 0;
    this.count = 0;
    this.inlineCount = 0;
    this.changed = false;
    // The tip of the life before has the shape of the one to come, and is written over (`setFirstTip`).
    if (this.tips.length !== SUBJECT_TIP) this.tips = [0, 0, 0, 0];
    this.#packed = undefined;
  }

  /** Copies its term, because the head will be looked up again. */
  keep(): void {
    this.isLent = false;
    if (this.count === 0) this.tips = [];
    this.#bytes = this.term;
    this.#from = 0;
    this.#to = this.#bytes.length;
  }

  /** The key of its row: lent. */
  keyOf(keys: RowKeys): Uint8Array {
    return this.isLent ? keys.subject(this.#bytes, this.#from, this.#to) : keys.head(this.name);
  }

  /** The head of a row. Throws when the row's entries are corrupt. */
  static from(content: HeadContent, key: Uint8Array): LiveHead {
    const head = new LiveHead(content.name, content.id);
    const before = new PostingPlace();
    const start = findNewest(key, content, { before, last: head.last });
    if (start > 0) {
      head.#packed = new ByteWriter(PACKED_START_BYTES);
      head.#packed.slice(content.inline, 0, start);
      head.#packedLast = before;
    }
    head.inlineCount = content.inlineCount;
    head.firstRevision = content.firstRevision;
    head.lastRevision = content.lastRevision;
    head.lastWithoutSubject = content.lastWithoutSubject;
    head.count = content.count;
    head.spilled = content.spilled;
    head.tips = [...content.tips];
    return head;
  }

  /** Adds an event to the list. Returns the chunk that had to make room for it, if one had. */
  append(entry: PackedEntry, hasSubject: boolean): FullChunk | undefined {
    const chunk = this.inlineCount === CHUNK_ENTRIES ? this.#takeChunk() : undefined;
    this.#push(entry);
    if (this.count === 0) this.firstRevision = entry.revision;
    this.count++;
    this.lastRevision = entry.revision;
    if (!hasSubject) this.lastWithoutSubject = entry.revision;
    return chunk;
  }

  /** The tip of the one event of a head that was begun. */
  setFirstTip(streamId: number, sourceId: number, typeId: number): void {
    this.tips[0] = streamId;
    this.tips[1] = sourceId;
    this.tips[2] = typeId;
    this.tips[3] = this.lastRevision;
  }

  /** Writes the inline entries, as a head's row holds them. */
  writeInline(into: ByteWriter, scratch: PostingPlace): void {
    if (this.#packed === undefined || this.#packedLast === undefined) {
      scratch.reset();
    } else {
      into.append(this.#packed);
      scratch.set(this.#packedLast);
    }
    writePosting(into, scratch, this.last);
  }

  #push(entry: PackedEntry): void {
    if (this.inlineCount > 0) this.#packLast();
    this.last.set(entry);
    this.inlineCount++;
  }

  #packLast(): void {
    this.#packed ??= new ByteWriter(PACKED_START_BYTES);
    this.#packedLast ??= new PostingPlace();
    writePosting(this.#packed, this.#packedLast, this.last);
  }

  #takeChunk(): FullChunk {
    this.#packLast();
    const row = new ByteWriter();
    if (this.#packed !== undefined) writeChunk(row, this.inlineCount, this.#packed.view());
    const { revision, index } = this.last;
    this.#packed?.reset();
    this.#packedLast?.reset();
    this.inlineCount = 0;
    return { name: this.name, revision, index, row };
  }
}
