// Goal: a caller hears of databases by their names, whatever the node below calls them (V6). Method: examples.

import { describe, expect, it } from 'vitest';
import { DatabaseError, toDatabaseId, toGroupId } from '#base';
import { refusalBy } from '../../../src/service/instance.ts';

const BINDING = {
  name: 'shop',
  databaseId: toDatabaseId('0193a1b2-c3d4-7e5f-8a9b-100000000000'),
  group: toGroupId(7),
  createdAtMs: 0,
  replicas: [],
  leaving: [],
  founders: [],
  placement: 0,
  isSettled: true,
};

describe('refusalBy (V6)', () => {
  it('says that the database was deleted when its group is gone', () => {
    expect(refusalBy(BINDING, new DatabaseError('not_found', 'Group 7 holds no database'))).toMatchObject({
      code: 'not_found',
      message: 'The database "shop" was deleted',
    });
  });

  it.each([new DatabaseError('unavailable', 'Group 7 has no leader'), new TypeError('a bug')])(
    'passes on what is not about the instance: %s',
    (failure) => {
      expect(refusalBy(BINDING, failure)).toBe(failure);
    },
  );
});
