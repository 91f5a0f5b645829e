// Goal: the error mapping is total and says what the specification says (TH2). Method: the table against the
// specification's, and bodies as golden text.
import { describe, expect, it } from 'vitest';
import { DatabaseError, ERROR_CODES, type ErrorCode } from '#base';
import { errorReply, invalidField, WIRE_ERRORS } from '../../../../src/transport/http/errors.ts';

const SPECIFIED: Readonly<Record<ErrorCode, readonly [status: number, code: string]>> = {
  invalid_argument: [400, 'INVALID_ARGUMENT'],
  not_found: [404, 'NOT_FOUND'],
  already_exists: [409, 'ALREADY_EXISTS'],
  constraint_violated: [409, 'FAILED_PRECONDITION'],
  too_large: [413, 'RESOURCE_EXHAUSTED'],
  rate_limited: [429, 'RESOURCE_EXHAUSTED'],
  storage_full: [507, 'RESOURCE_EXHAUSTED'],
  busy: [503, 'INTERNAL'],
  not_leader: [503, 'INTERNAL'],
  unavailable: [503, 'INTERNAL'],
  not_acceptable: [406, 'INVALID_ARGUMENT'],
  unauthenticated: [401, 'UNAUTHENTICATED'],
  permission_denied: [403, 'PERMISSION_DENIED'],
  unimplemented: [404, 'NOT_FOUND'],
  internal: [500, 'INTERNAL'],
};

describe('SPEC-HTTP-ERRORS: error codes', () => {
  it('are all mapped, none besides (TH2)', () => {
    expect(Object.keys(WIRE_ERRORS).toSorted()).toEqual([...ERROR_CODES].toSorted());
  });

  it.each(ERROR_CODES)('%s has its status and code', (code) => {
    const { status, body } = errorReply(new DatabaseError(code, 'why'));
    const [wantedStatus, wantedCode] = SPECIFIED[code];
    expect(status).toBe(wantedStatus);
    expect(JSON.parse(body ?? '')).toEqual({ error: { code: wantedCode, message: 'why', details: { reason: code } } });
  });
});

describe('SPEC-HTTP-ERRORS: error body', () => {
  it('shows the first malformed field at the top and all of them below', () => {
    expect(errorReply(invalidField('limit', 'must be an integer from 1 to 1000', 0)).body).toBe(
      '{"error":{"code":"INVALID_ARGUMENT",' +
        '"message":"The request is malformed: limit must be an integer from 1 to 1000; found 0",' +
        '"details":{"reason":"invalid_argument","field":"limit","value":"0",' +
        '"violations":[{"field":"limit","description":"must be an integer from 1 to 1000","value":"0"}]}}}',
    );
  });

  it('lists every violated constraint', () => {
    const constraints = [{ index: 0, kind: 'max-revision', found: 4, required: 'at most 3', description: 'late' }];
    const { body } = errorReply(new DatabaseError('constraint_violated', 'refused', { details: { constraints } }));
    expect(body).toBe(
      '{"error":{"code":"FAILED_PRECONDITION","message":"refused","details":{"reason":"constraint_violated",' +
        '"constraints":[{"index":0,"kind":"max-revision","found":4,"required":"at most 3","description":"late"}]}}}',
    );
  });

  it('names a reason that is finer than the code', () => {
    const details = { reason: 'RevisionNotFound' };
    const { body } = errorReply(new DatabaseError('not_found', 'no revision 9', { details }));
    expect(body).toContain('"details":{"reason":"RevisionNotFound"}');
  });

  it('says in whole seconds when to come again', () => {
    const error = new DatabaseError('rate_limited', 'slow down', { details: { retryAfterMs: 1_200 } });
    expect(errorReply(error).headers).toEqual({ 'retry-after': '2' });
  });

  it('carries no caching header (TH3)', () => {
    for (const code of ERROR_CODES) {
      const names = Object.keys(errorReply(new DatabaseError(code, 'why')).headers);
      expect(names.filter((name) => /cache-control|etag|expires|vary/.test(name))).toEqual([]);
    }
  });

  it('keeps what went wrong underneath to the log', () => {
    const error = new DatabaseError('internal', 'The server failed', { cause: new Error('a secret path') });
    expect(errorReply(error).body).not.toContain('secret');
  });
});
