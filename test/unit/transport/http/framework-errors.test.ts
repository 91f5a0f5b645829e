// Goal: what fastify raises becomes an error of ours by its code, and nothing of its words gets out (TH1). Method: a
// table.
import { describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { toDatabaseError } from '../../../../src/transport/http/framework-errors.ts';

const REQUEST = { url: '/db/%zz', contentType: ';;' };

function raised(code: string): Error {
  return Object.assign(new Error('the words of the framework'), { code, statusCode: 400 });
}

describe('a framework error', () => {
  it.each([
    ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'invalid_argument', 'Content-Type must be a media type'],
    ['FST_ERR_BAD_URL', 'invalid_argument', 'path must have percent encodings of UTF-8'],
  ])('%s is %s', (code, ownCode, message) => {
    const error = toDatabaseError(raised(code), REQUEST);
    expect(error).toMatchObject({ code: ownCode, message: expect.stringContaining(message) });
    expect(error.message).not.toContain('framework');
  });

  it.each([raised('FST_ERR_SOMETHING'), raised('toString'), new Error('a bug'), 'a thrown text', undefined])(
    'that nobody knows is a fault of the server: %s',
    (error) => {
      const failure = toDatabaseError(error, REQUEST);
      expect(failure.code).toBe('internal');
      expect(failure.message).not.toMatch(/framework|bug|text/);
      expect(failure.cause).toBe(error);
    },
  );

  it('of ours stays as it is', () => {
    const error = new DatabaseError('busy', 'come again');
    expect(toDatabaseError(error, REQUEST)).toBe(error);
  });
});
