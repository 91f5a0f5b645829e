// A history of a database for tests of archives, and nodes that have applied some of it. A segment file is its header
// and its records; what records contain does not matter.
import { createHash } from 'node:crypto';
import type { ArchiveSource, Hash, HistoryState, SealedSegment } from '#archive';
import { contentOf } from '#archive';

export const DATABASE: ArchiveSource['database'] = {
  id: '019b76da-a800-7000-8000-000000000001',
  root: '019b76da-a800-7000-8000-000000000001',
  name: 'shop',
  createdAtMs: 1_767_225_600_000,
};

export const SEGMENT_HEADER: Uint8Array = Uint8Array.from('segment:', (letter) => letter.charCodeAt(0));

export function newHash(): Hash {
  const hash = createHash('sha256');
  return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export interface RecordToAppend {
  readonly bytes: number;
  /** Other records raise no revision. */
  readonly isTransaction: boolean;
  readonly afterMs: number;
}

interface Appended {
  readonly state: HistoryState;
  readonly segmentStart: number;
}

export class ArchivedHistory {
  readonly database: ArchiveSource['database'] = DATABASE;
  readonly #segmentBytes: number;
  #bytes = new Uint8Array(0);
  readonly #appended: Appended[] = [
    {
      state: { position: 0, revision: 0, recordedTimeMs: 0, chainHash: sha256Of(new Uint8Array(16)) },
      segmentStart: 0,
    },
  ];

  constructor(segmentBytes: number) {
    this.#segmentBytes = segmentBytes;
  }

  /** Number of records. */
  get count(): number {
    return this.#appended.length - 1;
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  append({ bytes, isTransaction, afterMs }: RecordToAppend): void {
    const { state, segmentStart } = this.after(this.count);
    const { position, revision, recordedTimeMs, chainHash } = state;
    const record = Uint8Array.from({ length: bytes }, (_, index) => (position + index * 31 + bytes) & 0xff);
    this.#bytes = Buffer.concat([this.#bytes, record]);
    const begins = position >= segmentStart + this.#segmentBytes;
    const next = isTransaction
      ? {
          revision: revision + 1,
          recordedTimeMs: Math.max(recordedTimeMs, DATABASE.createdAtMs) + afterMs,
          chainHash: sha256Of(Buffer.concat([Buffer.from(chainHash), record])),
        }
      : { revision, recordedTimeMs, chainHash };
    this.#appended.push({
      state: { position: position + bytes, ...next },
      segmentStart: begins ? position : segmentStart,
    });
  }

  /** The state after so many records. */
  after(count: number): Appended {
    const found = this.#appended[count];
    if (found === undefined) throw new Error(`the history has ${this.count} records, not ${count}`);
    return found;
  }

  /** States after each record, from the empty history on. */
  get states(): readonly HistoryState[] {
    return this.#appended.map(({ state }) => state);
  }
}

/** A history of some segments, and of more records than there are manifests that retention keeps in any case. */
export function longHistory(): ArchivedHistory {
  const history = new ArchivedHistory(4_000);
  for (let index = 0; index < 240; index++) {
    history.append({ bytes: 20 + ((index * 37) % 50), isTransaction: index % 4 !== 1, afterMs: index % 3 });
  }
  return history;
}

/** A node that has applied the first records of a history. */
export class ArchivingNode implements ArchiveSource {
  applied = 0;
  /** Number of records at its last checkpoint: segments that had ended are sealed. Undefined: all are. */
  checkpoint: number | undefined;
  readonly #history: ArchivedHistory;

  constructor(history: ArchivedHistory) {
    this.#history = history;
  }

  get database(): ArchiveSource['database'] {
    return this.#history.database;
  }

  async state(): Promise<HistoryState & { readonly segmentStart: number }> {
    const { state, segmentStart } = this.#history.after(this.applied);
    return { ...state, segmentStart };
  }

  async sealed(position: number): Promise<SealedSegment | undefined> {
    for (let count = 0; count < (this.checkpoint ?? this.applied); count++) {
      const { state } = this.#history.after(count);
      const next = this.#history.after(count + 1).segmentStart;
      if (state.position !== next || next <= position) continue;
      const bytes = Buffer.concat([SEGMENT_HEADER, this.#history.bytes.subarray(position, next)]);
      return { content: contentOf(bytes), end: state };
    }
    return undefined;
  }

  records(from: number, to: number): ReturnType<ArchiveSource['records']> {
    return contentOf(this.#history.bytes.slice(from, to));
  }

  async chainHashAt(revision: number): Promise<string | undefined> {
    const known = this.#history.states.slice(0, this.applied + 1);
    return known.find((state) => state.revision === revision)?.chainHash;
  }
}
