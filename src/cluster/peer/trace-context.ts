/**
 * In which span something was sent to another node (W3C Trace Context): said in a frame of its own, before the frame
 * with the request. So frames with requests are the same with a trace and without one, and a node that does not know
 * this kind of frame drops nothing else.
 *
 * ```
 * content   := context*
 * context   := 1   varint session, varint id, text traceparent, text tracestate     of a forwarded request
 *            | 2   varint group, varint id, text traceparent, text tracestate       of a request of a read
 * text      := varint length, UTF-8
 * ```
 */
import { type ByteReader, type ByteWriter, encodeUtf8, type GroupId } from '#base';
import { fail, readGroup } from './message-bytes.ts';

/** The headers of W3C. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

export type SentContext =
  | ({ readonly kind: 'forward'; readonly session: number; readonly id: number } & TraceContext)
  | ({ readonly kind: 'read'; readonly group: GroupId; readonly id: number } & TraceContext);

/** Contexts of one frame; of more requests nothing is said. */
export const CONTEXTS_MAX = 64;

/** W3C requires no more to be carried. */
const STATE_LENGTH_MAX = 512;

const TAGS = { forward: 1, read: 2 } as const;
const SAMPLED = 1;
/** The only version that there is; neither id is zero. */
const PARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

/** Whether something is kept of the trace. What is no context is not. */
export function isSampled({ traceparent }: TraceContext): boolean {
  const flags = PARENT.exec(traceparent)?.[1];
  return flags !== undefined && (Number.parseInt(flags, 16) & SAMPLED) !== 0;
}

/** The context of a span below that one; `spanId` has 16 digits. */
export function contextBelow({ traceparent, tracestate }: TraceContext, spanId: string): TraceContext {
  const [version, trace, , flags] = traceparent.split('-');
  return { traceparent: `${version}-${trace}-${spanId}-${flags}`, tracestate };
}

export function writeContext(writer: ByteWriter, context: SentContext): void {
  const { kind, id, traceparent, tracestate = '' } = context;
  writer.u8(TAGS[kind]);
  writer.varint(kind === 'forward' ? context.session : context.group);
  writer.varint(id);
  writeText(writer, traceparent);
  writeText(writer, tracestate.length > STATE_LENGTH_MAX ? '' : tracestate);
}

/** To the end of the content; the reader has failed when it is malformed, and then what is returned means nothing. */
export function readContexts(reader: ByteReader): readonly SentContext[] {
  const contexts: SentContext[] = [];
  while (reader.left > 0 && !reader.failed) {
    const context = readContext(reader);
    if (context === undefined || contexts.length === CONTEXTS_MAX) fail(reader);
    else contexts.push(context);
  }
  return contexts;
}

function readContext(reader: ByteReader): SentContext | undefined {
  const tag = reader.u8();
  if (tag === TAGS.forward)
    return { kind: 'forward', session: reader.varint(), id: reader.varint(), ...readTexts(reader) };
  if (tag === TAGS.read) return { kind: 'read', group: readGroup(reader), id: reader.varint(), ...readTexts(reader) };
  return undefined;
}

function readTexts(reader: ByteReader): TraceContext {
  const traceparent = reader.utf8(reader.varint());
  const tracestate = reader.utf8(reader.varint());
  const isKept = tracestate !== '' && tracestate.length <= STATE_LENGTH_MAX;
  return isKept ? { traceparent, tracestate } : { traceparent };
}

function writeText(writer: ByteWriter, text: string): void {
  const bytes = encodeUtf8(text);
  writer.varint(bytes.length);
  writer.bytes(bytes);
}
