/**
 * Where the indexed attributes stand in an event's canonical bytes: one pass over its first fields, no strings, no
 * objects. The event was checked when it came in (#model); here it is only trusted to be protobuf.
 */
import { ProtoReader } from '#base';

const TAG = { ID: 0x0a, SPEC_VERSION: 0x12, TYPE: 0x1a, SOURCE: 0x22, SUBJECT: 0x2a, TIME: 0x32 } as const;
const TIME_TAG = { SECONDS: 0x08, NANOS: 0x10 } as const;

/** Offsets are in the array that was handed over; one object serves one event after the other. */
export class EventSkim {
  idStart = 0;
  idEnd = 0;
  typeStart = 0;
  typeEnd = 0;
  sourceStart = 0;
  sourceEnd = 0;
  /** −1: the event has no subject. */
  subjectStart = -1;
  subjectEnd = -1;
  /** False: the event takes effect when it is recorded. */
  hasTime = false;
  seconds = 0;
  nanos = 0;
  readonly #reader: ProtoReader;

  constructor(bytes: Uint8Array) {
    this.#reader = new ProtoReader(bytes);
  }

  /** Looks at the event `[from, to)`. False when its first fields are not those of a canonical event. */
  read(from: number, to: number): boolean {
    const reader = this.#reader;
    reader.at = from;
    reader.end = to;
    if (reader.tag() !== TAG.ID) return false;
    this.idStart = reader.lengthDelimited();
    this.idEnd = reader.at;
    if (reader.tag() !== TAG.SPEC_VERSION) return false;
    reader.lengthDelimited();
    if (reader.tag() !== TAG.TYPE) return false;
    this.typeStart = reader.lengthDelimited();
    this.typeEnd = reader.at;
    if (reader.tag() !== TAG.SOURCE) return false;
    this.sourceStart = reader.lengthDelimited();
    this.sourceEnd = reader.at;
    this.subjectStart = -1;
    this.subjectEnd = -1;
    this.hasTime = false;
    let tag = reader.done ? 0 : reader.tag();
    if (tag === TAG.SUBJECT) {
      this.subjectStart = reader.lengthDelimited();
      this.subjectEnd = reader.at;
      tag = reader.done ? 0 : reader.tag();
    }
    if (tag === TAG.TIME) this.#readTime();
    return !reader.failed;
  }

  #readTime(): void {
    const reader = this.#reader;
    const length = reader.varint();
    const end = reader.at + length;
    this.hasTime = true;
    this.seconds = 0;
    this.nanos = 0;
    while (reader.at < end) {
      const tag = reader.tag();
      if (tag === TIME_TAG.SECONDS) this.seconds = reader.signedVarint();
      else if (tag === TIME_TAG.NANOS) this.nanos = reader.varint();
      else reader.fail();
    }
  }
}
