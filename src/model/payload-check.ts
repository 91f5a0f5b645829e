/**
 * Checks that bytes from outside are a transaction's payload (payload.ts) before they become an entry: readers of the
 * log trust that.
 */
import { ProtoReader } from '#base';
import type { Constraint } from './constraint.ts';
import { checkConstraints } from './constraint-rules.ts';
import { decodeConstraint } from './constraint-wire.ts';
import type { EventPlace } from './event-place.ts';
import { walkEvent } from './event-walk.ts';
import { Faults } from './faults.ts';
import { PAYLOAD_FORMAT, PAYLOAD_FORMAT_KEPT, PAYLOAD_KIND_TRANSACT } from './payload.ts';
import { isOrigin, transactionTooLarge } from './transaction.ts';
import { decodeTransactionOptions } from './transaction-options.ts';

const HEAD_BYTES = 2;
const UUID_BYTES = 16;
const TAG = { recordedTime: 0x09, transactionId: 0x12, origin: 0x18, options: 0x22, event: 0x7a } as const;

/** Why the payload is invalid, or undefined. Never throws. */
export function faultInTransactPayload(payload: Uint8Array): string | undefined {
  const [format, kind] = payload;
  const isKnown = format === PAYLOAD_FORMAT || format === PAYLOAD_FORMAT_KEPT;
  if (!isKnown || kind !== PAYLOAD_KIND_TRANSACT) {
    return `its format ${format} and kind ${kind} are not ${PAYLOAD_FORMAT} or ${PAYLOAD_FORMAT_KEPT} and ${PAYLOAD_KIND_TRANSACT}`;
  }
  const reader = new ProtoReader(payload, HEAD_BYTES);
  const start = reader.lengthDelimited();
  if (reader.failed) return 'its constraints reach past its end';
  const faults = new Faults();
  const isWhole = readConstraints(payload.subarray(start, reader.at), faults) && readBody(reader, faults);
  if (!isWhole) return 'it is cut short or malformed';
  const [first] = faults.violations;
  return first && `${first.field} ${first.description}`;
}

function readConstraints(bytes: Uint8Array, faults: Faults): boolean {
  const reader = new ProtoReader(bytes);
  const constraints: Constraint[] = [];
  while (!reader.done && faults.none) {
    const start = reader.lengthDelimited();
    const constraint = decodeConstraint(bytes.subarray(start, reader.at), 'constraint', faults);
    if (constraint !== undefined) constraints.push(constraint);
  }
  checkConstraints(constraints, 'constraints', faults);
  return !reader.failed;
}

function readBody(reader: ProtoReader, faults: Faults): boolean {
  const isTimed = reader.tag() === TAG.recordedTime;
  reader.fixed64();
  const isNamed = reader.tag() === TAG.transactionId;
  const idStart = reader.lengthDelimited();
  if (!isTimed || !isNamed || reader.at - idStart !== UUID_BYTES) return false;
  let [origin, eventCount, eventBytes] = [0, 0, 0];
  while (!reader.done && faults.none) {
    const tag = reader.tag();
    if (tag === TAG.origin) origin = reader.varint();
    else if (tag === TAG.event || tag === TAG.options) {
      const start = reader.lengthDelimited();
      if (reader.failed) break;
      if (tag === TAG.options) decodeTransactionOptions(reader.bytes.subarray(start, reader.at), 'options', faults);
      else {
        readEvent(reader, start, { faults, list: 'events', index: eventCount });
        eventCount += 1;
        eventBytes += reader.at - start;
      }
    } else reader.fail();
  }
  const tooLarge = transactionTooLarge(eventCount, eventBytes);
  if (tooLarge !== undefined) faults.add('events', tooLarge.message);
  return !reader.failed && isOrigin(origin);
}

function readEvent(reader: ProtoReader, start: number, place: EventPlace): void {
  if (walkEvent(reader.bytes, start, reader.at, place) === 'not-canonical') {
    place.faults.add(`${place.list}[${place.index}]`, 'must be in canonical form');
  }
}
