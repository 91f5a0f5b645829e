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
import {
  ByteReader,
  ByteWriter,
  type Field,
  FLAG,
  fieldsOf,
  kindsOf,
  NO_BYTES,
  oneOf,
  TEXT,
  VARINT,
  VIEW,
} from '#base';
import { VALUE, VALUES } from '../abi/value-codec.ts';
import type { Value, ValueList } from '../abi/values.ts';
import { FAULT_CODES, type Fault } from '../faults.ts';
import { BOUND, type Bound, LIMITED, type Limited, type Spent } from '../guest/calls.ts';
import type { PublishOptions } from '../publishing/publish.ts';
import { PUBLISH_OPTIONS } from '../publishing/publish-messages.ts';

interface Asked {
  readonly id: number;
  /** The number of the artifact at this executor; the node assigns it. */
  readonly artifact: number;
}

export type Request =
  | (Asked & { readonly kind: 'load'; readonly bytes: Uint8Array })
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

/** A request without the bytes at its end. */
type Head<Any = Request> = Any extends { readonly kind: 'fold' } ? Omit<Any, 'events'> : Omit<Any, 'bytes'>;

const ARTIFACT = { id: VARINT, artifact: VARINT };

const HEAD = kindsOf<Head>({
  load: [1, ARTIFACT],
  unload: [2, ARTIFACT],
  fold: [3, { ...ARTIFACT, ...LIMITED, shown: VALUE, state: VIEW }],
  call: [4, { ...ARTIFACT, ...LIMITED, bound: oneOf(BOUND), isFresh: FLAG, values: VALUES }],
  publish: [5, { id: VARINT, options: PUBLISH_OPTIONS }],
});

const SPENT = fieldsOf<Spent>({ fuel: VARINT, memoryBytes: VARINT, hostCalls: VARINT });

const ANSWER = kindsOf<Answer>({
  value: [1, { id: VARINT, spent: SPENT, value: VALUE }],
  fault: [2, { id: VARINT, spent: SPENT, fault: fieldsOf<Fault>({ code: oneOf(FAULT_CODES), message: TEXT }) }],
  ready: [3, {}],
});

const HOST_CALL = fieldsOf<{ readonly id: number } & HostCall>({
  id: VARINT,
  interfaceName: TEXT,
  functionName: TEXT,
  values: VALUES,
});

const HOST_RESULT = kindsOf<HostResult>({ value: [1, { value: VALUE }], failed: [2, { message: TEXT }] });

/** Returns two parts, so that the long one is not copied again. */
export function encodeRequest(request: Request): readonly [head: Uint8Array, bytes: Uint8Array] {
  const writer = new ByteWriter();
  HEAD.write(writer, request);
  if (request.kind === 'fold') return [writer.take(), request.events];
  return [writer.take(), 'bytes' in request ? request.bytes : NO_BYTES];
}

/** Bytes of the request are views into the frame. */
export function decodeRequest(frame: Uint8Array): Request | undefined {
  const reader = new ByteReader(frame);
  const head = HEAD.read(reader);
  if (reader.failed) return undefined;
  const rest = reader.bytes(reader.left);
  if (head.kind === 'fold') return { ...head, events: rest };
  return head.kind === 'load' || head.kind === 'publish' ? { ...head, bytes: rest } : head;
}

export function encodeAnswer(answer: Answer): Uint8Array {
  const writer = new ByteWriter();
  ANSWER.write(writer, answer);
  // A view saves a copy: the writer is not used again.
  return writer.view();
}

export function decodeAnswer(frame: Uint8Array): Answer | undefined {
  return whole(ANSWER, frame);
}

/** The id is that of the request: the pipes are separate, and a call may overtake the answer before it. */
export function encodeHostCall(id: number, call: HostCall): Uint8Array {
  const writer = new ByteWriter();
  HOST_CALL.write(writer, { id, ...call });
  return writer.take();
}

export function decodeHostCall(frame: Uint8Array): { readonly id: number; readonly call: HostCall } | undefined {
  const read = whole(HOST_CALL, frame);
  if (read === undefined) return undefined;
  const { id, ...call } = read;
  return { id, call };
}

export function encodeHostResult(result: HostResult): Uint8Array {
  const writer = new ByteWriter();
  HOST_RESULT.write(writer, result);
  return writer.take();
}

export function decodeHostResult(frame: Uint8Array): HostResult | undefined {
  return whole(HOST_RESULT, frame);
}

function whole<Message>(field: Field<Message>, frame: Uint8Array): Message | undefined {
  const reader = new ByteReader(frame);
  const message = field.read(reader);
  return reader.failed || reader.left > 0 ? undefined : message;
}
