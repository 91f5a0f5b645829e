// Single events, streams, subjects and event types; the reference model compares random ones.
import { describe, expect, it } from 'vitest';
import { cloudEvent, errorOf, INVALID_ARGUMENT, jsonOf, NOT_FOUND, uniqueName } from '../support/http-client.ts';
import { createHistory, type EventPage, idsOf } from '../support/http-history.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api } = await sharedHttpNode();
const name = uniqueName();
await createHistory(api, name);

describe('SPEC-HTTP-SINGLE-EVENT', () => {
  it('with index is another one, and the last has no link', async () => {
    const path = `/databases/${name}/events/5`;
    const third = await api.get(`${path}?index=3`);
    expect(jsonOf(third)).toMatchObject({ id: '5.3', index: 3 });
    expect(third.headers.get('link')).toBe(`<${path}?index=4>; rel="next"`);
    expect((await api.get(`${path}?index=4`)).headers.get('link')).toBeNull();
  });

  it.each(['x', '-1', '5?index=1e1', '18446744073709551616', 'latest'])('%s is malformed: 400', async (which) => {
    expect(errorOf(await api.get(`/databases/${name}/events/${which}`))).toMatchObject(INVALID_ARGUMENT);
  });
});

describe('SPEC-HTTP-SINGLE-STREAM, SUBJECT and EVENT-TYPE', () => {
  it('pages by links, and has nothing behind its last event, also at an earlier revision', async () => {
    const { next } = jsonOf(await api.get(`/db/${name}/5/streams/carts?limit=1`)) as EventPage;
    expect(idsOf(await api.get(next ?? ''))).toEqual(['4.0']);
    expect(jsonOf(await api.get(next?.replace('/5/', '/2/') ?? ''))).toMatchObject({ events: [], has_more: false });
  });

  it.each(['streams/orders', 'subjects/s', 'event-types/order.placed', 'events'])(
    'refuses the cursor of a database that was re-created: %s (TH8)',
    async (list) => {
      const own = uniqueName();
      await api.create(own);
      const two = [cloudEvent('a', { subject: 's' }), cloudEvent('b', { subject: 's' })];
      await api.commit(own, ...two);
      const { next = '' } = jsonOf(await api.get(`/db/${own}/1/${list}?limit=1`)) as EventPage;
      const { next_cursor } = jsonOf(await api.get(`/databases/${own}/events?limit=1`)) as EventPage;
      const log = `/databases/${own}/events?after=${next_cursor}`;
      expect([idsOf(await api.get(next)), idsOf(await api.get(log))]).toEqual([['b'], ['b']]);
      await api.delete(`/databases/${own}`);
      await api.create(own);
      const refused = [await api.get(log)];
      await api.commit(own, ...two);
      refused.push(await api.get(log), await api.get(next));
      for (const answer of refused) {
        expect(errorOf(answer, NOT_FOUND).message).toContain('The cursor is not of the database that is now called');
      }
    },
  );

  it.each(['streams/%00', `subjects/${'s'.repeat(256)}`, 'streams/%20', 'streams/orders?after=1'])(
    '%s is malformed: 400',
    async (path) => {
      expect(errorOf(await api.get(`/db/${name}/5/${path}`))).toMatchObject(INVALID_ARGUMENT);
    },
  );
});

describe('SPEC-HTTP-LISTINGS: streams, subjects and event types at a revision', () => {
  it('are cut by prefix, and paged by links', async () => {
    const prefixed = jsonOf(await api.get(`/db/${name}/5/event-types?prefix=order.&limit=2`)) as EventPage;
    const names = ['order.paid', 'order.placed'].map((each) => ({ name: each }));
    expect(prefixed).toMatchObject({ event_types: names, has_more: true });
    const rest = jsonOf(await api.get(prefixed.next ?? ''));
    expect(rest).toMatchObject({ event_types: [{ name: 'order.shipped' }], has_more: false });
  });

  it.each(['limit=0', 'limit=1001', 'prefix=%00', `prefix=${'p'.repeat(256)}`, 'after=%00'])(
    'answer 400 to ?%s',
    async (parameters) => {
      expect(errorOf(await api.get(`/db/${name}/5/streams?${parameters}`))).toMatchObject(INVALID_ARGUMENT);
    },
  );
});
