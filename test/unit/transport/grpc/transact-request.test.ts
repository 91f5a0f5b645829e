// Goal: the walk over a Transact request has the same result as the generated decoder, for any bytes (T6). Method:
// random events, faulty and changed requests.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { encodeEvent } from '#model';
import { TransactRequest } from '../../../../proto/gen/cairn/v1/transaction.ts';
import { parseTransactRequest } from '../../../../src/transport/grpc/transact-request.ts';
import { arbEvent } from '../../../support/events.ts';

const EVENT = { id: 'e-1', specVersion: '1.0', ty: 'order.placed', source: 'orders' };

function request(parts: Parameters<typeof TransactRequest.fromPartial>[0]): Uint8Array {
  return TransactRequest.encode(TransactRequest.fromPartial(parts)).finish();
}

function failureOf(run: () => unknown): DatabaseError {
  try {
    run();
  } catch (failure) {
    if (failure instanceof DatabaseError) return failure;
    throw failure;
  }
  throw new Error('nothing was thrown');
}

function fieldsOf(bytes: Uint8Array): string {
  const { violations } = parseTransactRequest(bytes).faults;
  return violations
    .map(({ field }) => field.replace(/^(transaction\.)?events\[0\]\./, '$1'))
    .toSorted()
    .join(' ');
}

describe('parseTransactRequest (T6)', () => {
  it('returns every event in canonical form, for any valid form', () => {
    fc.assert(
      fc.property(fc.array(arbEvent, { maxLength: 5 }), (events) => {
        const transaction = { events: events.map((event) => encodeEvent(event)) };
        const inner = Buffer.concat(
          transaction.events.flatMap((bytes) => [Buffer.from([0x0a, ...varint(bytes.length)]), bytes]),
        );
        const bytes = Buffer.concat([Buffer.from([0x12, ...varint(inner.length)]), inner, Buffer.from('\n\u0004shop')]);
        const parsed = parseTransactRequest(bytes);
        expect(parsed.databaseName).toBe('shop');
        expect(parsed.eventCount).toBe(events.length);
        const told = parsed.events.map((event) => Buffer.from(event));
        expect(told).toEqual(transaction.events.map((event) => Buffer.from(event)));
      }),
    );
  });

  it.each([
    ['events', { events: [{ id: 'e', source: 's', specVersion: '1.0', type: 't' }] }],
    ['constraints', { constraints: [{}] }],
    ['transaction_id', { transactionId: 'x' }],
    ['options', { options: { commitMessage: 'x' } }],
  ])('rejects both forms at once: a transaction and %s', (_field, direct) => {
    const bytes = request({ databaseName: 'shop', transaction: { events: [EVENT] }, ...direct });
    const failure = failureOf(() => parseTransactRequest(bytes));
    expect(failure.code).toBe('invalid_argument');
    expect(failure.details.violations?.[0]?.field).toBe('transaction');
  });

  it('names the fields of the message that was sent', () => {
    const ceString = (value: string) => ({ attr: { $case: 'ceString', value } }) as const;
    const extensions = {
      type: ceString('x'),
      Foo: ceString('x'),
      link: { attr: { $case: 'ceUri', value: ' ' } } as const,
    };
    const own = {
      id: 'e',
      timeText: 'noon',
      time: { seconds: 0, nanos: 0 },
      datacontenttype: 'x',
      extensions,
      revision: 7,
    };
    const ours = request({ databaseName: 'shop', transaction: { events: [own] } });
    const faulty =
      'datacontenttype extensions["Foo"] extensions["link"] extensions["type"] revision source spec_version';
    expect(fieldsOf(ours)).toBe(prefixed(`${faulty} time_text ty`));
    const attributes = { ...extensions, subject: ceString(''), time: ceString('noon'), datacontenttype: ceString('x') };
    const theirs = ['Foo', 'datacontenttype', 'link', 'subject', 'time', 'type'].map((name) => `attributes["${name}"]`);
    const direct = request({ databaseName: 'shop', events: [{ id: 'e', attributes }] });
    expect(fieldsOf(direct)).toBe([...theirs, 'source', 'spec_version', 'type'].join(' '));
  });

  it('collects all faults of events, constraints and options, and counts malformed events', () => {
    const bytes = request({
      databaseName: 'shop',
      transaction: {
        events: [{ ...EVENT, id: '' }, EVENT, { ...EVENT, source: '' }],
        constraints: [{}, { kind: { $case: 'revisionRange', value: { start: 5, end: 4 } } }],
        options: { correlationId: '\u0001' },
      },
    });
    const { faults, events, eventCount } = parseTransactRequest(bytes);
    expect(faults.violations.map(({ field }) => field)).toEqual([
      'transaction.events[0].id',
      'transaction.events[2].source',
      'transaction.constraints[0]',
      expect.stringContaining('transaction.constraints[1]'),
      'transaction.options.correlation_id',
    ]);
    expect(events.length).toBe(1);
    expect(eventCount).toBe(3);
  });

  it('reports the byte at which it is invalid protobuf, cut anywhere, without a fault of a name that is cut', () => {
    const transactionId = '0193a1b2-c3d4-7e5f-8a9b-100000000000';
    const whole = request({ databaseName: 'shöp', transaction: { events: [EVENT], transactionId } });
    const nameBytes = 2 + Buffer.byteLength('shöp');
    const [name, rest] = [whole.subarray(0, nameBytes), whole.subarray(nameBytes)];
    for (const fields of [
      [name, rest],
      [rest, name],
    ]) {
      const message = Buffer.concat(fields);
      const isWhole = (end: number): boolean => end === 0 || end === fields[0]?.length;
      const ends = Array.from(message.keys()).filter((end) => !isWhole(end));
      const said = ends.map((end) => failureOf(() => parseTransactRequest(message.subarray(0, end))).message);
      const place = /^The message is not a cairn.v1.TransactRequest: the field at byte \d+ is not protobuf/;
      expect(said.filter((text) => !place.test(text))).toEqual([]);
    }
  });

  it('rejects a name that is not UTF-8', () => {
    const failure = failureOf(() => parseTransactRequest(Uint8Array.of(0x0a, 2, 0xc3, 0x28)));
    expect(failure.details.violations).toEqual([
      { field: 'database_name', description: 'must be well-formed UTF-8', value: '0xc328', found: '0xc328' },
    ]);
  });

  it('throws only invalid_argument, for any bytes', () => {
    const whole = Buffer.from(
      request({
        databaseName: 'shop',
        transaction: {
          events: [EVENT],
          constraints: [{ kind: { $case: 'maxRevision', value: { revision: 7, selector: { stream: 'orders' } } } }],
        },
      }),
    );
    const mutated = fc
      .array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
      .map((changes) => {
        const bytes = Buffer.from(whole);
        for (const [at, byte] of changes) bytes[at] = byte;
        return bytes;
      });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), mutated), (bytes) => {
        expect(['a request', 'invalid_argument']).toContain(verdict(() => parseTransactRequest(bytes)));
      }),
      { numRuns: 2000 },
    );
  });
});

function prefixed(fields: string): string {
  return fields.replaceAll(/^| /g, (before) => `${before}transaction.`);
}

function varint(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

function verdict(parse: () => unknown): string {
  try {
    parse();
    return 'a request';
  } catch (failure) {
    return failure instanceof DatabaseError ? failure.code : String(failure);
  }
}
