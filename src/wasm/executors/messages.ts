/**
 * Messages between the node and an executor (ADR 0087).
 *
 *   node ── requests ──▶ executor       fd 3: one frame each, answered in their order
 *   node ◀── answers ─── executor
 *   node ◀─ host calls ─ executor       fd 4: while one request is worked on; the executor waits for each
 *   node ── results ───▶ executor
 *
 *   request    u8 1  id  artifact, memory that an instance may keep bytes: the artifact
 *              u8 2  id  artifact                                   forget it
 *              u8 3  id  artifact limits wasi  view  state          bytes: events, each with its length, u32le
 *              u8 4  id  artifact limits wasi  function fresh       bytes: its arguments, a value
 *              u8 5  id  options                           bytes: a component to be published
 *   answer     u8 1  id  fuel memory calls  value
 *              u8 2  id  fuel memory calls  code message            a fault
 *              u8 3                                                 ready
 *   host call  id  interface function value                             result: u8 1 value, or u8 2 message
 *
 * Numbers are varints unless noted; bytes at the end of a request have no length. An executor trusts the node; the node
 * does not trust a process that runs guests.
 *
 *   G15 A written message reads back unchanged; invalid bytes read as undefined.
 */
import { ByteReader, ByteWriter, NO_BYTES } from '#base';
import { readBytes, readText, readValue, writeBytes, writeText, writeValue } from '../abi/value-codec.ts';
import { isList, type Value, type ValueList } from '../abi/values.ts';
import { FAULT_CODES, type Fault } from '../faults.ts';
import { BOUND, type Bound, type Limited, type Spent } from '../guest/calls.ts';
import { readLimited, writeLimited } from '../guest/limited-codec.ts';
import type { PublishOptions } from '../publishing/publish.ts';
import { readPublishOptions, writePublishOptions } from '../publishing/publish-messages.ts';

interface Asked {
  readonly id: number;
  /** The number of the artifact at this executor; the node assigns it. */
  readonly artifact: number;
}

export type Request =
  | (Asked & { readonly kind: 'load'; readonly guestBytesKept: number; readonly bytes: Uint8Array })
  | (Asked & { readonly kind: 'unload' })
  | (Asked &
      Limited & {
        readonly kind: 'fold';
        /** The view that a guest of the SDK's shape receives, a record; absent for other guests. */
        readonly shown?: Value;
        readonly state: Uint8Array;
        readonly events: Uint8Array;
      })
  | (Asked &
      Limited & { readonly kind: 'call'; readonly bound: Bound; readonly isFresh: boolean; readonly values: ValueList })
  | { readonly kind: 'publish'; readonly id: number; readonly options: PublishOptions; readonly bytes: Uint8Array };

export type Answer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'value'; readonly id: number; readonly spent: Spent; readonly value: Value }
  | { readonly kind: 'fault'; readonly id: number; readonly spent: Spent; readonly fault: Fault };

export interface HostCall {
  readonly interfaceName: string;
  readonly functionName: string;
  readonly values: ValueList;
}

export type HostResult =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'failed'; readonly message: string };

const KINDS = ['load', 'unload', 'fold', 'call', 'publish'] as const;
const ANSWERS = ['value', 'fault', 'ready'] as const;

/** Returns two parts, so that the long one is not copied again. */
export function encodeRequest(request: Request): readonly [head: Uint8Array, bytes: Uint8Array] {
  const writer = new ByteWriter();
  writer.u8(1 + KINDS.indexOf(request.kind));
  writer.varint(request.id);
  switch (request.kind) {
    case 'load':
      writer.varint(request.artifact);
      writer.varint(request.guestBytesKept);
      return [writer.take(), request.bytes];
    case 'unload':
      writer.varint(request.artifact);
      return [writer.take(), NO_BYTES];
    case 'fold':
      writer.varint(request.artifact);
      writeLimited(writer, request);
      writeValue(writer, request.shown);
      writeBytes(writer, request.state);
      return [writer.take(), request.events];
    case 'call':
      writer.varint(request.artifact);
      writeLimited(writer, request);
      writer.u8(BOUND.indexOf(request.bound));
      writer.u8(request.isFresh ? 1 : 0);
      writeValue(writer, request.values);
      return [writer.take(), NO_BYTES];
    case 'publish':
      writePublishOptions(writer, request.options);
      return [writer.take(), request.bytes];
  }
}

/** Bytes of the request are views into the frame. */
export function decodeRequest(frame: Uint8Array): Request | undefined {
  const reader = new ByteReader(frame);
  const kind = KINDS[reader.u8() - 1];
  const id = reader.varint();
  const request = kind === undefined ? undefined : readRequest(reader, kind, id);
  return reader.failed ? undefined : request;
}

function readRequest(reader: ByteReader, kind: (typeof KINDS)[number], id: number): Request | undefined {
  if (kind === 'publish') return { kind, id, options: readPublishOptions(reader), bytes: rest(reader) };
  const artifact = reader.varint();
  if (kind === 'load') return { kind, id, artifact, guestBytesKept: reader.varint(), bytes: rest(reader) };
  if (kind === 'unload') return { kind, id, artifact };
  const limited = readLimited(reader);
  if (kind === 'fold') {
    const shown = readValue(reader);
    return { kind, id, artifact, ...limited, shown, state: readBytes(reader), events: rest(reader) };
  }
  const bound = BOUND[reader.u8()];
  const isFresh = reader.u8() === 1;
  const values = readValue(reader);
  return bound === undefined || !isList(values)
    ? undefined
    : { kind, id, artifact, ...limited, bound, isFresh, values };
}

function rest(reader: ByteReader): Uint8Array {
  return reader.bytes(reader.left);
}

export function encodeAnswer(answer: Answer): Uint8Array {
  const writer = new ByteWriter();
  writer.u8(1 + ANSWERS.indexOf(answer.kind));
  if (answer.kind === 'ready') return writer.view();
  const { id, spent } = answer;
  for (const number of [id, spent.fuel, spent.memoryBytes, spent.hostCalls]) writer.varint(number);
  if (answer.kind === 'value') {
    writeValue(writer, answer.value);
  } else {
    writer.u8(FAULT_CODES.indexOf(answer.fault.code));
    writeText(writer, answer.fault.message);
  }
  // A view saves a copy: the writer is not used again.
  return writer.view();
}

export function decodeAnswer(frame: Uint8Array): Answer | undefined {
  const reader = new ByteReader(frame);
  const kind = ANSWERS[reader.u8() - 1];
  if (kind === undefined || kind === 'ready') return reader.failed || kind === undefined ? undefined : { kind };
  const id = reader.varint();
  const spent = { fuel: reader.varint(), memoryBytes: reader.varint(), hostCalls: reader.varint() };
  const answer = kind === 'value' ? { kind, id, spent, value: readValue(reader) } : readFault(reader, id, spent);
  return reader.failed || reader.left > 0 ? undefined : answer;
}

function readFault(reader: ByteReader, id: number, spent: Spent): Answer | undefined {
  const code = FAULT_CODES[reader.u8()];
  const message = readText(reader);
  return code === undefined ? undefined : { kind: 'fault', id, spent, fault: { code, message } };
}

/** The id is that of the request: the pipes are separate, and a call may overtake the answer before it. */
export function encodeHostCall(id: number, { interfaceName, functionName, values }: HostCall): Uint8Array {
  const writer = new ByteWriter();
  writer.varint(id);
  writeText(writer, interfaceName);
  writeText(writer, functionName);
  writeValue(writer, values);
  return writer.take();
}

export function decodeHostCall(frame: Uint8Array): { readonly id: number; readonly call: HostCall } | undefined {
  const reader = new ByteReader(frame);
  const id = reader.varint();
  const [interfaceName, functionName] = [readText(reader), readText(reader)];
  const values = readValue(reader);
  if (reader.failed || reader.left > 0 || !isList(values)) return undefined;
  return { id, call: { interfaceName, functionName, values } };
}

export function encodeHostResult(result: HostResult): Uint8Array {
  const writer = new ByteWriter();
  writer.u8(result.kind === 'value' ? 1 : 2);
  if (result.kind === 'value') writeValue(writer, result.value);
  else writeText(writer, result.message);
  return writer.take();
}

export function decodeHostResult(frame: Uint8Array): HostResult | undefined {
  const reader = new ByteReader(frame);
  const form = reader.u8();
  const result: HostResult =
    form === 1 ? { kind: 'value', value: readValue(reader) } : { kind: 'failed', message: readText(reader) };
  return reader.failed || reader.left > 0 || form === 0 || form > 2 ? undefined : result;
}
