// Goal: single events are found by position, and by stream and id, as the specification says.
// Method: a real node with one database of five transactions.
import { describe, expect, it } from 'vitest';
import { cloudEvent, errorOf, INVALID_ARGUMENT, jsonOf, NOT_FOUND, uniqueName } from '../support/http-client.ts';
import { createHistory } from '../support/http-history.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api } = await sharedHttpNode();
const name = uniqueName();

const databaseId = await createHistory(api, name);

describe('SPEC-HTTP-SINGLE-EVENT', () => {
  it.each([`/databases/${name}/events/5`, `/db/${name}/5/events/5`])(
    '%s is the event at index 0, linked to the next',
    async (path) => {
      const answer = await api.get(path);
      expect(jsonOf(answer)).toMatchObject({ id: '5.0', revision: 5, index: 0, data: { index: 0 } });
      expect(answer.headers.get('link')).toBe(`<${path}?index=1>; rel="next"`);
      expect(answer.headers.get('x-revision')).toBe('5');
      expect(answer.headers.get('x-database-id')).toBe(databaseId);
    },
  );

  it('with index is another one, and the last has no link', async () => {
    const path = `/databases/${name}/events/5`;
    const third = await api.get(`${path}?index=3`);
    expect(jsonOf(third)).toMatchObject({ id: '5.3', index: 3 });
    expect(third.headers.get('link')).toBe(`<${path}?index=4>; rel="next"`);
    expect((await api.get(`${path}?index=4`)).headers.get('link')).toBeNull();
    expect((await api.get(`/databases/${name}/events/2`)).headers.get('link')).toBeNull();
  });

  it('is read at the latest revision in one family and at the revision of the path in the other', async () => {
    expect((await api.get(`/databases/${name}/events/2`)).headers.get('x-revision')).toBe('5');
    expect((await api.get(`/db/${name}/3/events/2`)).headers.get('x-revision')).toBe('3');
    expect(errorOf(await api.get(`/db/${name}/3/events/4`))).toMatchObject(NOT_FOUND);
  });

  it('is found by stream and stored id', async () => {
    expect(jsonOf(await api.get(`/db/${name}/5/events/carts/4.0`))).toMatchObject({ id: '4.0', revision: 4, index: 0 });
    expect(errorOf(await api.get(`/db/${name}/3/events/carts/4.0`))).toMatchObject(NOT_FOUND);
    expect(errorOf(await api.get(`/db/${name}/5/events/orders/4.0`))).toMatchObject(NOT_FOUND);
  });

  it('is found by ids that need encoding, and by the id that it was given instead of a taken one', async () => {
    const own = uniqueName();
    await api.create(own);
    await api.commit(
      own,
      cloudEvent('a/b ü%'),
      cloudEvent('a/b ü%'),
      cloudEvent('x'.repeat(255)),
      cloudEvent('x'.repeat(255)),
    );
    expect(jsonOf(await api.get(`/db/${own}/1/events/orders/a%2Fb%20%C3%BC%25`))).toMatchObject({ index: 0 });
    expect(jsonOf(await api.get(`/db/${own}/1/events/orders/a%2Fb%20%C3%BC%25~1.1`))).toMatchObject({ index: 1 });
    expect(jsonOf(await api.get(`/db/${own}/1/events/orders/${'x'.repeat(255)}~1.3`))).toMatchObject({ index: 3 });
  });

  it.each([
    '0',
    '6',
    '9007199254740991',
    '9007199254740992',
    '18446744073709551615',
    '5?index=5',
    '5?index=999',
    '1?index=2',
  ])('%s is not there: 404', async (which) => {
    expect(errorOf(await api.get(`/databases/${name}/events/${which}`))).toMatchObject(NOT_FOUND);
  });

  it.each(['x', '-1', '5?index=-1', '5?index=x', '5?index=1e1', '18446744073709551616', 'latest'])(
    '%s is malformed: 400',
    async (which) => {
      expect(errorOf(await api.get(`/databases/${name}/events/${which}`))).toMatchObject(INVALID_ARGUMENT);
    },
  );
});
