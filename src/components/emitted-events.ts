/**
 * Parses the result of `decide`: events as records of cairn.wit, or a command error.
 *
 * Emitted events are validated by the same code as events of clients. Invalid events make the decision fail.
 */
import { encodeUtf8, INSTANT_SECONDS_MAX, isInstant } from '#base';
import { acceptCloudEventParts, type CloudEventParts, Faults, isWellFormedJson, transactionTooLarge } from '#model';
import { isList, isRecord, type Value, type ValueRecord } from '#wasm';
import type { CommandRefusal, CommandRefusalCode, DecisionFailure } from './decision.ts';
import { failed, guestCode, guestText } from './guest-failures.ts';

export type Emitted = { readonly kind: 'events'; readonly events: readonly Uint8Array[] };
export type Refusal = Omit<CommandRefusal, 'at'>;

/** `mintId` creates the id of an event without one. */
export function emittedFrom(answer: Value, mintId: (index: number) => string): Emitted | Refusal | DecisionFailure {
  const { tag, val } = taggedIn(answer);
  if (tag === 'err') return refusalFrom(val);
  if (tag !== 'ok' || !isList(val)) return unreadable('no list of events');
  const faults = new Faults();
  const events = val.flatMap((emitted, index) => {
    const parts = partsOf(emitted);
    if (typeof parts === 'string') return faults.add(`events[${index}]`, parts) ?? [];
    const id = parts.id === '' ? mintId(index) : parts.id;
    return acceptCloudEventParts({ ...parts, id }, { faults, list: 'events', index }) ?? [];
  });
  if (!faults.none) return invalid(faults.toError('The component emits an invalid event').message);
  const tooLarge = transactionTooLarge(
    events.length,
    events.reduce((sum, { length }) => sum + length, 0),
  );
  return tooLarge === undefined ? { kind: 'events', events } : invalid(tooLarge.message);
}

function invalid(message: string): DecisionFailure {
  return failed('ValidationError', message);
}

function unreadable(what: string): DecisionFailure {
  return failed('WasmExecutionError', `The component answers ${what}, as cairn.wit does not have it`);
}

const CODES: ReadonlyMap<Value, CommandRefusalCode> = new Map([
  ['validation-failed', 'ValidationFailed'],
  ['unknown-command', 'UnknownCommand'],
  ['invalid-input', 'InvalidInput'],
  ['state-not-found', 'StateNotFound'],
  ['internal-error', 'InternalError'],
]);

function refusalFrom(error: Value): Refusal | DecisionFailure {
  const { tag, val } = taggedIn(error);
  const code = CODES.get(tag);
  const { message, code: reason, details } = fieldsOf(val);
  if (code === undefined || typeof message !== 'string' || !isText(reason) || !isText(details)) {
    return unreadable(`an error ${typeof tag === 'string' ? tag : ''}`.trimEnd());
  }
  if (details !== undefined && !isJson(details)) {
    const said = guestText(message);
    return failed('WasmExecutionError', `The component refuses with details that are no JSON: ${said}`);
  }
  const own = reason === undefined ? undefined : guestCode(reason);
  return { kind: 'refused', code, message: guestText(message), reason: own, details };
}

function isText(value: Value): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function isJson(text: string): boolean {
  const bytes = encodeUtf8(text);
  return isWellFormedJson(bytes, 0, bytes.length);
}

/** The parts of a record `cloudevent`, or a description of the fault. */
function partsOf(emitted: Value): CloudEventParts | string {
  const { id, source, specversion: specVersion, type, data, attributes: listed } = fieldsOf(emitted);
  if (!(typeof id === 'string' && typeof source === 'string')) return NO_RECORD;
  if (!(typeof specVersion === 'string' && typeof type === 'string')) return NO_RECORD;
  const payload = payloadOf(data);
  if (payload === 'unknown' || !isList(listed)) return NO_RECORD;
  const attributes = new Map<string, AttributeValue>();
  for (const pair of listed) {
    const [name, value] = isList(pair) ? pair : [];
    if (typeof name !== 'string') return NO_RECORD;
    const read = attributeOf(value);
    if (read === undefined) return `must have an attribute ${JSON.stringify(name)} that is a value of cairn.wit`;
    if (attributes.has(name)) return `must have the attribute ${JSON.stringify(name)} once`;
    attributes.set(name, read);
  }
  return { id, source, specVersion, type, payload, attributes };
}

const NO_RECORD = 'must be a record cloudevent of cairn.wit';

function payloadOf(data: Value): CloudEventParts['payload'] | 'unknown' {
  if (data === undefined) return undefined;
  const { tag, val } = taggedIn(data);
  if (tag === 'binary' && val instanceof Uint8Array) return { kind: 'binary', bytes: val };
  return tag === 'string' && typeof val === 'string' ? { kind: 'text', bytes: encodeUtf8(val) } : 'unknown';
}

type AttributeValue = CloudEventParts['attributes'] extends ReadonlyMap<string, infer Held> ? Held : never;

function attributeOf(value: Value): AttributeValue | undefined {
  const { tag, val } = taggedIn(value);
  if (tag === 'boolean' && typeof val === 'boolean') return { kind: 'boolean', value: val };
  if (tag === 'integer' && typeof val === 'number') return { kind: 'integer', value: val };
  if (tag === 'binary' && val instanceof Uint8Array) return { kind: 'bytes', value: val };
  if ((tag === 'string' || tag === 'uri' || tag === 'uri-ref') && typeof val === 'string')
    return { kind: tag, value: val };
  return tag === 'timestamp' ? timestampOf(val) : undefined;
}

function timestampOf(value: Value): AttributeValue | undefined {
  const { seconds, nanoseconds: nanos } = fieldsOf(value);
  if (typeof seconds !== 'bigint' || typeof nanos !== 'number' || seconds > INSTANT_SECONDS_MAX) return undefined;
  const instant = { seconds: Number(seconds), nanos };
  return isInstant(instant.seconds, instant.nanos) ? { kind: 'timestamp', value: instant } : undefined;
}

/** The types of a guest may have the right shape but other names. */
function fieldsOf(value: Value): ValueRecord {
  return isRecord(value) ? value : {};
}

function taggedIn(value: Value): { readonly tag: Value; readonly val: Value } {
  const { tag, val } = fieldsOf(value);
  return { tag, val };
}
