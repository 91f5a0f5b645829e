/**
 * Checks that bytes from outside are a transaction: its payload (payload.ts) before it becomes an entry, its body in a
 * record of another replica. The rules are the same, because every entry becomes a record that others must accept.
 */
import { ProtoReader } from '#base';
import type { Constraint } from './constraint.ts';
import { checkConstraints } from './constraint-rules.ts';
import { decodeConstraint } from './constraint-wire.ts';
import { walkEvent } from './event-walk.ts';
import { Faults } from './faults.ts';
import { faultInHead } from './payload.ts';
import { transactionTooLarge } from './transaction.ts';
import { bodyIn, type TransactionBodyView } from './transaction-body.ts';
import { decodeTransactionOptions } from './transaction-options.ts';

const HEAD_BYTES = 2;

/** Why the payload is invalid, or undefined. Never throws. */
export function faultInTransactPayload(payload: Uint8Array): string | undefined {
  const fault = faultInHead(payload[0], payload[1]);
  if (fault !== undefined) return fault;
  const reader = new ProtoReader(payload, HEAD_BYTES);
  const constraints = reader.view();
  if (reader.failed) return 'its constraints reach past its end';
  const faults = new Faults();
  const body = bodyIn(payload, reader.at, payload.length, false);
  if (typeof body === 'string') return body;
  if (!areConstraints(constraints, faults)) return 'its constraints are cut short or malformed';
  return faults.none ? faultInBody(body) : firstOf(faults);
}

function areConstraints(bytes: Uint8Array, faults: Faults): boolean {
  const reader = new ProtoReader(bytes);
  const constraints: Constraint[] = [];
  while (!reader.done && faults.none) {
    const constraint = decodeConstraint(reader.view(), 'constraint', faults);
    if (constraint !== undefined) constraints.push(constraint);
  }
  checkConstraints(constraints, 'constraints', faults);
  return !reader.failed;
}

/** Why no client can have sent this body, or undefined. */
export function faultInBody(body: TransactionBodyView): string | undefined {
  const { bytes, optionsStart, optionsEnd, eventStarts, eventEnds } = body;
  const faults = new Faults();
  if (optionsStart !== -1) decodeTransactionOptions(bytes.subarray(optionsStart, optionsEnd), 'options', faults);
  if (eventStarts.length === 0) faults.add('events', 'must have at least one event');
  let eventBytes = 0;
  for (const [index, start] of eventStarts.entries()) {
    const end = eventEnds[index] ?? start;
    eventBytes += end - start;
    if (faults.none && walkEvent(bytes, start, end, { faults, list: 'events', index }) === 'not-canonical') {
      faults.add(`events[${index}]`, 'must be in canonical form');
    }
  }
  const tooLarge = transactionTooLarge(eventStarts.length, eventBytes);
  return tooLarge === undefined ? firstOf(faults) : tooLarge.message;
}

function firstOf({ violations: [first] }: Faults): string | undefined {
  return first && `${first.field} ${first.description}`;
}
