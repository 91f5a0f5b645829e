// Goal: every error code has the status and the body of the specification (TH2). Method: a table of all codes; bodies
// of examples.
import { describe, expect, it } from 'vitest';
import { DatabaseError, ERROR_CODES, type ErrorCode, toGroupId } from '#base';
import { withdrawn } from '../../../../src/cluster/refusals.ts';
import { errorReply, invalidField } from '../../../../src/transport/http/errors.ts';

const SPECIFIED: Readonly<Record<ErrorCode, string>> = {
  invalid_argument: '400 INVALID_ARGUMENT',
  not_found: '404 NOT_FOUND',
  already_exists: '409 ALREADY_EXISTS',
  constraint_violated: '409 FAILED_PRECONDITION',
  too_large: '413 RESOURCE_EXHAUSTED',
  rate_limited: '429 RESOURCE_EXHAUSTED',
  storage_full: '507 RESOURCE_EXHAUSTED',
  busy: '503 INTERNAL',
  not_leader: '503 INTERNAL',
  unavailable: '503 INTERNAL',
  not_acceptable: '406 INVALID_ARGUMENT',
  unauthenticated: '401 UNAUTHENTICATED',
  permission_denied: '403 PERMISSION_DENIED',
  unimplemented: '404 NOT_FOUND',
  internal: '500 INTERNAL',
};

it('SPEC-HTTP-ERRORS: every error code has its status and code (TH2), and no caching header (TH3)', () => {
  const replies = ERROR_CODES.map((code) => {
    const { status, body, headers } = errorReply(new DatabaseError(code, 'why'));
    const { error }: { error: { code: string } } = JSON.parse(body ?? '');
    expect(error).toEqual({ code: error.code, message: 'why', details: { reason: code } });
    expect(Object.keys(headers).filter((name) => /cache-control|etag|expires|vary/.test(name))).toEqual([]);
    return [code, `${status} ${error.code}`];
  });
  expect(Object.fromEntries(replies)).toEqual(SPECIFIED);
});

describe('SPEC-HTTP-ERRORS: error body', () => {
  it('shows the first malformed field at the top and all of them below', () => {
    expect(errorReply(invalidField('limit', 'must be an integer from 1 to 1000', 0)).body).toBe(
      '{"error":{"code":"INVALID_ARGUMENT",' +
        '"message":"The request is malformed: limit must be an integer from 1 to 1000; found 0",' +
        '"details":{"reason":"invalid_argument","field":"limit","value":"0",' +
        '"violations":[{"field":"limit","description":"must be an integer from 1 to 1000","value":"0"}]}}}\n',
    );
  });

  it('has the details of a refusal as the component wrote them', () => {
    const details = { reason: 'overdrawn', refusalDetails: '{"cents":9007199254740993}' };
    expect(errorReply(new DatabaseError('invalid_argument', 'no', { details })).body).toBe(
      '{"error":{"code":"INVALID_ARGUMENT","message":"no",' +
        '"details":{"reason":"overdrawn","details":{"cents":9007199254740993}}}}\n',
    );
  });

  it('names a revision that is damaged, and no time for a retry', () => {
    const holders = { group: toGroupId(7), nodes: [] };
    const { status, headers, body } = errorReply(withdrawn('database "shop"', holders, { revision: 12 }));
    expect([status, headers, JSON.parse(body ?? '')]).toEqual([
      500,
      {},
      {
        error: {
          code: 'INTERNAL',
          message:
            'The events of the database "shop" on this node are damaged, and revision 12 cannot be read. The database is out of service until an operator restores it (docs/operations/runbooks/store-corruption.md)',
          details: { reason: 'DatabaseDamaged' },
        },
      },
    ]);
  });

  it('has the time of a retry in whole seconds', () => {
    const error = new DatabaseError('rate_limited', 'slow down', { details: { retryAfterMs: 1_200 } });
    expect(errorReply(error).headers).toEqual({ 'retry-after': '2' });
  });

  it('does not show the underlying cause, which only the log has', () => {
    const error = new DatabaseError('internal', 'The server failed', { cause: new Error('a secret path') });
    expect(errorReply(error).body).not.toContain('secret');
  });
});
