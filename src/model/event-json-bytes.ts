/**
 * Writes the CloudEvents JSON format: canonical bytes and the server fields become one object of JSON text.
 *
 * The order is fixed: id, source, specversion, type, subject, time, datacontenttype, dataschema, the extensions by
 * name, revision, index, recordedtime, and the payload last (payload-form.ts). A JSON payload is copied (M5), so that
 * numbers beyond 2^53, the order of names and their spelling are preserved.
 *
 * The input of a fold is many events in one buffer, each after its length:
 * ```
 * (u32le length | event)*
 * ```
 * Events are copied from where they were read to the output buffer, without objects. Space is reserved in two steps:
 * the maximum size of the attributes, then the payload, which is most of an event and mostly copied unchanged.
 *
 *   M11 Many events in one buffer are written like each alone, and every text as JSON.stringify writes it.
 */
import { assert, decodeUtf8, encodeUtf8, formatInstant, instantFromMs, ProtoReader } from '#base';
import type { ServerFields } from './event.ts';
import { EventSpans } from './event-spans.ts';
import { VALUE_TAG } from './event-wire.ts';
import {
  base64Bytes,
  ESCAPED_BYTES_MAX,
  JsonBytes,
  type Phrase,
  phraseOf,
  type SpareMemory,
  textBytes,
} from './json-bytes.ts';
import { payloadForm } from './payload-form.ts';
import { readTimestamp } from './timestamp-wire.ts';

const LENGTH_BYTES = 4;
/** Maximum bytes of length, names, quotes and server fields: everything that does not depend on the client's data. */
const FIXED_BYTES = 512;
const ID = phraseOf('{"id":');
const SOURCE = phraseOf(',"source":');
const SPEC_VERSION = phraseOf(',"specversion":');
const TYPE = phraseOf(',"type":');
const SUBJECT = phraseOf(',"subject":');
const TIME = phraseOf(',"time":');
const CONTENT_TYPE = phraseOf(',"datacontenttype":');
const SCHEMA = phraseOf(',"dataschema":');
const REVISION = phraseOf(',"revision":');
const INDEX = phraseOf(',"index":');
const RECORDED_TIME = phraseOf(',"recordedtime":"');
const DATA = phraseOf(',"data":');
const DATA_BASE64 = phraseOf(',"data_base64":');
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const CLOSE_OBJECT = 0x7d;

export class EventJsonBytes {
  readonly #json: JsonBytes;
  readonly #spans: EventSpans = new EventSpans();
  #recordedTimeMs = -1;
  /** Text of the recorded time, which many events in a row have. */
  #recordedTime = '';

  /** Initial capacity; the buffer grows. Spare memory is used first. */
  constructor(startBytes: number, spare?: SpareMemory) {
    this.#json = new JsonBytes(startBytes, spare);
  }

  /** Bytes since the last `take`. */
  get length(): number {
    return this.#json.at;
  }

  /** Adds the stored event `[from, to)` of `source` after its length. */
  append(source: Uint8Array, from: number, to: number, server: ServerFields): void {
    const json = this.#json;
    this.#begin(source, from, to, server);
    const start = json.at;
    json.at += LENGTH_BYTES;
    this.#put(source, server);
    putLength(json.bytes, start, json.at - start - LENGTH_BYTES);
  }

  /** The text of one event alone. The buffer keeps its largest size. */
  textOf(source: Uint8Array, server: ServerFields): string {
    const json = this.#json;
    try {
      this.#begin(source, 0, source.length, server);
      this.#put(source, server);
      return decodeUtf8(json.bytes, 0, json.at) ?? '';
    } finally {
      json.reset();
    }
  }

  /** Returns the buffer. */
  take(): Uint8Array {
    return this.#json.take();
  }

  /** Reserves the maximum size of everything but the payload. */
  #begin(source: Uint8Array, from: number, to: number, { storedId = '' }: ServerFields): void {
    const [json, spans] = [this.#json, this.#spans];
    spans.read(source, from, to);
    json.from(source);
    const payloadBytes = spans.dataEnd - spans.dataStart;
    json.reserve(FIXED_BYTES + ESCAPED_BYTES_MAX * (to - from - payloadBytes + storedId.length));
  }

  #put(source: Uint8Array, server: ServerFields): void {
    this.#putAttributes(source, server.storedId ?? '');
    this.#putServerFields(server);
    this.#putPayload(source);
    this.#json.byte(CLOSE_OBJECT);
  }

  #putAttributes(source: Uint8Array, storedId: string): void {
    const [json, spans] = [this.#json, this.#spans];
    if (storedId === '') this.#putMember(ID, spans.idStart, spans.idEnd);
    else {
      const id = encodeUtf8(storedId);
      json.from(id);
      this.#putMember(ID, 0, id.length);
      json.from(source);
    }
    this.#putMember(SOURCE, spans.sourceStart, spans.sourceEnd);
    this.#putMember(SPEC_VERSION, spans.versionStart, spans.versionEnd);
    this.#putMember(TYPE, spans.typeStart, spans.typeEnd);
    if (spans.subjectStart !== -1) this.#putMember(SUBJECT, spans.subjectStart, spans.subjectEnd);
    if (spans.timeTextStart !== -1) this.#putMember(TIME, spans.timeTextStart, spans.timeTextEnd);
    else if (spans.timeStart !== -1) {
      json.phrase(TIME);
      putTimestamp(json, source, spans.timeStart, spans.timeEnd);
    }
    if (spans.contentTypeStart !== -1) {
      this.#putMember(CONTENT_TYPE, spans.contentTypeStart, spans.contentTypeEnd);
    }
    if (spans.schemaStart !== -1) this.#putMember(SCHEMA, spans.schemaStart, spans.schemaEnd);
    if (spans.extensionsStart !== -1) putExtensions(json, source, spans);
  }

  #putMember(name: Phrase, from: number, to: number): void {
    this.#json.phrase(name);
    this.#json.text(from, to);
  }

  #putServerFields({ revision, index, recordedTimeMs }: ServerFields): void {
    const json = this.#json;
    if (recordedTimeMs !== this.#recordedTimeMs) {
      this.#recordedTimeMs = recordedTimeMs;
      this.#recordedTime = formatInstant(instantFromMs(recordedTimeMs));
    }
    json.phrase(REVISION);
    json.count(revision);
    json.phrase(INDEX);
    json.count(index);
    json.phrase(RECORDED_TIME);
    json.ascii(this.#recordedTime);
    json.byte(QUOTE);
  }

  #putPayload(source: Uint8Array): void {
    const json = this.#json;
    const form = payloadForm(source, this.#spans);
    if (form === 'absent') return;
    const from = Math.max(0, this.#spans.dataStart);
    const to = Math.max(0, this.#spans.dataEnd);
    const bytes = form === 'json' ? to - from : form === 'text' ? textBytes(source, from, to) : base64Bytes(to - from);
    json.reserve(DATA_BASE64.length + bytes + 1);
    json.phrase(form === 'base64' ? DATA_BASE64 : DATA);
    if (form === 'json') json.run(from, to);
    else if (form === 'text') json.text(from, to);
    else json.base64(from, to);
  }
}

/** Reused for single events, whose text is copied out of it. */
const SINGLE = new EventJsonBytes(4096);

/** `bytes` is a stored event; the text is an object without white space of its own. */
export function eventToJson(bytes: Uint8Array, server: ServerFields): string {
  return SINGLE.textOf(bytes, server);
}

function putTimestamp(json: JsonBytes, source: Uint8Array, from: number, to: number): void {
  const instant = readTimestamp(source, from, to);
  assert(instant !== undefined, 'A timestamp of a stored event is canonical', from);
  json.byte(QUOTE);
  json.ascii(formatInstant(instant));
  json.byte(QUOTE);
}

/** The structure is known to be canonical: `42 length (0A name) (12 value)`. */
function putExtensions(json: JsonBytes, source: Uint8Array, { extensionsStart, extensionsEnd }: EventSpans): void {
  const reader = new ProtoReader(source, extensionsStart, extensionsEnd);
  while (!reader.done) {
    reader.tag();
    reader.varint();
    reader.tag();
    const nameStart = reader.lengthDelimited();
    json.byte(COMMA);
    json.text(nameStart, reader.at);
    json.byte(COLON);
    reader.tag();
    const valueStart = reader.lengthDelimited();
    putExtension(json, new ProtoReader(source, valueStart, reader.at));
  }
}

function putExtension(json: JsonBytes, reader: ProtoReader): void {
  const tag = reader.tag();
  if (tag === VALUE_TAG.BOOLEAN) return json.ascii(reader.varint() === 1 ? 'true' : 'false');
  if (tag === VALUE_TAG.INTEGER) return json.ascii(String(reader.signedVarint()));
  const start = reader.lengthDelimited();
  if (tag === VALUE_TAG.BYTES) return json.base64(start, reader.at);
  if (tag === VALUE_TAG.TIMESTAMP) return putTimestamp(json, reader.bytes, start, reader.at);
  return json.text(start, reader.at);
}

function putLength(bytes: Uint8Array, at: number, length: number): void {
  bytes[at] = length;
  bytes[at + 1] = length >>> 8;
  bytes[at + 2] = length >>> 16;
  bytes[at + 3] = length >>> 24;
}
