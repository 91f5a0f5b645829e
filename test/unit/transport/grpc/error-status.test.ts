// Goal: every error of Cairn has a gRPC status, whose details are the standard messages (T5). Method: each error code;
// details decoded by generated code.
import { describe, expect, it } from 'vitest';
import { BrokenInvariant, DatabaseError, ERROR_CODES, type ErrorCode, toGroupId } from '#base';
import {
  BadRequest,
  ErrorInfo,
  PreconditionFailure,
  RetryInfo,
} from '../../../../proto/gen/google/rpc/error_details.ts';
import { Status } from '../../../../proto/gen/google/rpc/status.ts';
import { withdrawn } from '../../../../src/cluster/refusals.ts';
import { type FailureListeners, statusOfError, statusOfFailure } from '../../../../src/transport/grpc/error-status.ts';
import { trailersOf } from '../../../../src/transport/grpc/wire/status.ts';

const DECODERS: Readonly<Record<string, (bytes: Uint8Array) => unknown>> = {
  'type.googleapis.com/google.rpc.ErrorInfo': (bytes) => ErrorInfo.decode(bytes),
  'type.googleapis.com/google.rpc.BadRequest': (bytes) => BadRequest.decode(bytes),
  'type.googleapis.com/google.rpc.PreconditionFailure': (bytes) => PreconditionFailure.decode(bytes),
  'type.googleapis.com/google.rpc.RetryInfo': (bytes) => RetryInfo.decode(bytes),
};

function detailsOf(error: DatabaseError): readonly unknown[] {
  const { details = new Uint8Array(0) } = statusOfError(error);
  return Status.decode(details).details.map(({ typeUrl, value }) => DECODERS[typeUrl]?.(value));
}

const STATUSES: Readonly<Record<ErrorCode, string>> = {
  invalid_argument: 'INVALID_ARGUMENT',
  not_found: 'NOT_FOUND',
  already_exists: 'ALREADY_EXISTS',
  constraint_violated: 'FAILED_PRECONDITION',
  too_large: 'RESOURCE_EXHAUSTED',
  rate_limited: 'RESOURCE_EXHAUSTED',
  storage_full: 'RESOURCE_EXHAUSTED',
  busy: 'UNAVAILABLE',
  not_leader: 'UNAVAILABLE',
  unavailable: 'UNAVAILABLE',
  not_acceptable: 'INVALID_ARGUMENT',
  unauthenticated: 'UNAUTHENTICATED',
  permission_denied: 'PERMISSION_DENIED',
  unimplemented: 'UNIMPLEMENTED',
  internal: 'INTERNAL',
};

describe('statusOfError (T5)', () => {
  it('has a status for every code', () => {
    const statuses = ERROR_CODES.map((code) => [code, statusOfError(new DatabaseError(code, 'What')).code]);
    expect(Object.fromEntries(statuses)).toEqual(STATUSES);
  });

  it('has the time of a retry in RetryInfo', () => {
    const error = new DatabaseError('busy', 'x', { details: { retryAfterMs: 1500 } });
    expect(detailsOf(error)).toEqual([expect.anything(), { retryDelay: { seconds: 1, nanos: 500_000_000 } }]);
  });

  it('has the reason of a damaged database, which is no bug, and no time for a retry', () => {
    const bugs: unknown[] = [];
    const listeners = { onBug: (failure: unknown) => void bugs.push(failure), onFatal: () => undefined };
    const damaged = withdrawn('database "shop"', { group: toGroupId(7), nodes: [] }, { revision: 12 });
    expect([statusOfFailure(damaged, listeners).code, bugs]).toEqual(['INTERNAL', []]);
    expect(detailsOf(damaged)).toMatchObject([{ metadata: { reason: 'DatabaseDamaged' } }]);
  });

  it.each([
    ['has', 2048],
    ['leaves out, for they would not fit the trailers,', 2049],
  ])('%s the details of a refusal of %d bytes', (_, bytes) => {
    const refusalDetails = JSON.stringify('x'.repeat(bytes - 2));
    const error = new DatabaseError('not_found', 'x'.repeat(2000), { details: { reason: 'r', refusalDetails } });
    const metadata = { reason: 'r', ...(bytes > 2048 ? {} : { details: refusalDetails }) };
    expect(detailsOf(error)).toMatchObject([{ metadata }]);
    expect(JSON.stringify(trailersOf(statusOfError(error))).length).toBeLessThan(8192);
  });

  it.each(['x', 'ä', '語', '🏦', '"'])('fits into the trailers of every client, also with a million of %s', (sign) => {
    const violations = Array.from({ length: 100 }, (_, at) => ({
      field: `f[${at}]`,
      description: 'is wrong'.repeat(8),
    }));
    const status = statusOfError(
      new DatabaseError('invalid_argument', sign.repeat(1_000_000), { details: { violations } }),
    );
    const trailers = Object.entries(trailersOf(status));
    const bytes = trailers.reduce((sum, [name, value]) => sum + name.length + String(value).length + 32, 0);
    expect(bytes).toBeLessThan(8192);
    expect(status.message).toMatch(/characters\)$/);
  });

  it('has the address of the leader', () => {
    const leader = { node: 'n2', address: '10.0.0.2:50051' };
    const wanted = { 'x-leader-node': 'n2', 'x-leader-address': '10.0.0.2:50051' };
    expect(statusOfError(new DatabaseError('not_leader', 'x', { details: { leader } })).trailers).toEqual(wanted);
  });
});

function internal(reason: string): DatabaseError {
  return new DatabaseError('internal', 'A row', { details: { reason } });
}

function listen(): { heard: [string, unknown][]; listeners: FailureListeners } {
  const heard: [string, unknown][] = [];
  const onBug = (failure: unknown): void => void heard.push(['bug', failure]);
  return { heard, listeners: { onBug, onFatal: (failure) => void heard.push(['fatal', failure]) } };
}

it.each([
  ['a bug', new TypeError('secret'), ['bug']],
  ['a broken invariant', new BrokenInvariant('secret: 1 is 2'), ['bug']],
  ['a missing row', internal('UnexpectedRow'), ['bug']],
  ['a row whose checksum fails', internal('CorruptRecord'), ['fatal']],
  ['a fault of a component', internal('WasmExecutionError'), []],
])('statusOfFailure answers %s with INTERNAL, and reports it to the log or the process', (_what, failure, told) => {
  const { heard, listeners } = listen();
  const status = statusOfFailure(failure, listeners);
  expect(status.code).toBe('INTERNAL');
  expect(status.message).not.toContain('secret');
  expect(heard).toEqual(told.map((listener) => [listener, failure]));
});
