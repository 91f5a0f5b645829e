// A request with an unknown field anywhere is refused and changes nothing (ADR 0156).
import { describe, expect, it } from 'vitest';
import { GRPC_STATUS } from '../../src/transport/grpc/wire/status.ts';
import { framed } from '../support/raw-grpc.ts';
import { sharedGrpcNode } from '../support/shared-servers.ts';

const { raw } = await sharedGrpcNode();

function text(value: string): Buffer {
  return Buffer.from(value, 'utf8');
}

/** Encodes a length-delimited field. Its number gives a tag of one or two bytes. */
function field(number: number, ...parts: readonly Uint8Array[]): Buffer {
  const value = Buffer.concat(parts);
  const tag = number * 8 + 2;
  const head = tag < 128 ? [tag] : [(tag % 128) + 128, Math.floor(tag / 128)];
  return Buffer.concat([Uint8Array.of(...head, value.length), value]);
}

const NAME = field(1, text('unknown-fields'));
const LATER = field(20, text('x'));
const texts = (...values: readonly string[]): Buffer =>
  Buffer.concat(values.map((value, at) => field(at + 1, text(value))));
const EVENT = texts('1', '1.0', 't', 'orders');
const CLOUD_EVENT = texts('1', 'orders', '1.0', 't');

function transacting(...parts: readonly Uint8Array[]): Buffer {
  return Buffer.concat([NAME, field(2, field(1, EVENT), ...parts)]);
}

function minRevision(...parts: readonly Uint8Array[]): Buffer {
  return field(2, field(1, Uint8Array.of(0x08, 1), ...parts));
}

function absent(path: string, type: string, wireType = 2): string {
  const number = path.split('.').at(-1) ?? '';
  const full = type.includes('.') ? type : `cairn.v1.${type}`;
  return `${path} must be absent: ${full} has no field ${number} of wire type ${wireType}`;
}

const SELECTOR = 'EventSelector';
const KIND_RULE = 'must be one of min_revision, max_revision, revision_range; found "field 20 of wire type 2"';

const asked = (...parts: readonly Uint8Array[]): Buffer => Buffer.concat([NAME, ...parts]);

const REQUESTS: readonly (readonly [method: string, what: string, bytes: Buffer, fault: string])[] = [
  [
    'Transact',
    'a selector of a constraint, beside one that is known',
    transacting(minRevision(field(2, field(1, text('orders')), LATER))),
    absent('transaction.constraints[0].min_revision.selector.20', SELECTOR),
  ],
  [
    'Transact',
    'a constraint',
    transacting(minRevision(LATER)),
    absent('transaction.constraints[0].min_revision.20', 'MinRevision'),
  ],
  ['Transact', 'the kinds of constraints', transacting(field(2, LATER)), `transaction.constraints[0] ${KIND_RULE}`],
  ['Transact', 'a transaction', transacting(LATER), absent('transaction.20', 'Transaction')],
  ['Transact', 'the request', Buffer.concat([transacting(), LATER]), absent('20', 'TransactRequest')],
  ['Transact', 'an event', asked(field(2, field(1, EVENT, LATER))), absent('transaction.events[0].20', 'Event')],
  [
    'Transact',
    'a CloudEvent',
    asked(field(3, CLOUD_EVENT, LATER)),
    absent('events[0].20', 'io.cloudevents.v1.CloudEvent'),
  ],
  ['Transact', 'its options', transacting(field(4, LATER)), absent('transaction.options.20', 'TransactionOptions')],
  [
    'QueryEvents',
    'a selector',
    asked(field(2, field(1, field(1, LATER)))),
    absent('query.event_selection.selectors[0].20', SELECTOR),
  ],
  ['QueryEvents', 'a query', asked(field(2, LATER)), absent('query.20', 'EventQuery')],
  ['QueryEvents', 'the request', asked(LATER), absent('20', 'QueryEventsRequest')],
  ['ScanDatabaseLog', 'the request', asked(LATER), absent('20', 'ScanDatabaseLogRequest')],
  [
    'DeleteDatabase',
    'the request: a database_id that is a number',
    asked(Uint8Array.of(0x10, 7)),
    absent('2', 'DeleteDatabaseRequest', 0),
  ],
  [
    'FetchStateView',
    'an entry of its parameters',
    asked(field(2, text('v')), field(3, texts('name', 'value'), LATER)),
    absent('parameters[0].20', 'cairn.v1.FetchStateViewRequest.ParametersEntry'),
  ],
  ['FetchCatalog', 'the request', LATER, absent('20', 'google.protobuf.Empty')],
];

describe('SPEC-GRPC-UNKNOWN-FIELDS', () => {
  it.each(REQUESTS)('%s refuses a field that %s does not have', async (method, _what, bytes, fault) => {
    await raw.call({ path: '/cairn.v1.EventStore/CreateDatabase', pieces: [framed(NAME)] });
    const reply = await raw.call({ path: `/cairn.v1.EventStore/${method}`, pieces: [framed(bytes)] });
    expect(reply.status).toBe(GRPC_STATUS.INVALID_ARGUMENT);
    expect(reply.message).toContain(fault);
    const database = await raw.call({ path: '/cairn.v1.EventStore/FetchLatestDatabase', pieces: [framed(NAME)] });
    expect(database.headers?.['x-revision']).toBe('0');
  });
});
